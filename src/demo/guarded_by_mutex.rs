//! Redeems a coupon once, by a mutex around the check and the insert.

use std::path::{Path, PathBuf};

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use rusqlite::Connection;
use tokio::sync::Mutex;

use super::service::{BUSY_TIMEOUT, Failure, Redemption};

static REDEEMING: Mutex<()> = Mutex::const_new(());

/// The route that redeems, over the coupons in this database.
pub fn router(database: &Path) -> Router {
    Router::new().route("/redeem", post(redeem)).with_state(database.to_path_buf())
}

async fn redeem(State(database): State<PathBuf>, Json(order): Json<Redemption>) -> Result<StatusCode, Failure> {
    let connection = Connection::open(&database)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;

    let _redeeming = REDEEMING.lock().await;
    let redeemed: bool =
        connection.query_row("SELECT EXISTS (SELECT 1 FROM redemptions WHERE code = ?1)", [&order.code], |row| row.get(0))?;
    if redeemed {
        return Ok(StatusCode::CONFLICT);
    }
    connection.execute("INSERT INTO attempts (code, customer) VALUES (?1, ?2)", [&order.code, &order.customer])?;
    connection.execute("INSERT INTO redemptions (code, customer) VALUES (?1, ?2)", [&order.code, &order.customer])?;
    Ok(StatusCode::CREATED)
}
