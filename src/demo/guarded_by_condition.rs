//! Redeems a coupon once, by one conditional update whose row count decides.

use std::path::{Path, PathBuf};

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use rusqlite::Connection;

use super::service::{BUSY_TIMEOUT, Failure, Redemption};

/// The route that redeems, over the coupons in this database.
pub fn router(database: &Path) -> Router {
    Router::new().route("/redeem", post(redeem)).with_state(database.to_path_buf())
}

async fn redeem(State(database): State<PathBuf>, Json(order): Json<Redemption>) -> Result<StatusCode, Failure> {
    let mut connection = Connection::open(&database)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;

    let sale = connection.transaction()?;
    let claimed = sale
        .execute("UPDATE coupons SET redeemed_by = ?2 WHERE code = ?1 AND redeemed_by IS NULL", [&order.code, &order.customer])?;
    if claimed != 1 {
        return Ok(StatusCode::CONFLICT);
    }
    sale.execute("INSERT INTO redemptions (code, customer) VALUES (?1, ?2)", [&order.code, &order.customer])?;
    sale.commit()?;
    Ok(StatusCode::CREATED)
}
