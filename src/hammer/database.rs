//! Reads the state from a database: PostgreSQL, MySQL, MariaDB or SQLite. It reads only, in a transaction that allows nothing
//! else, and does not know what the rows mean.

use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};
use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use postgres::SimpleQueryMessage;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

use super::copies::permit;
use super::template::Template;

/// A query and where it is asked.
#[derive(Debug)]
pub struct Query {
    database: Database,
    statement: Template,
}

#[derive(Debug)]
enum Database {
    Postgres(Box<postgres::Config>),
    MySql(Box<mysql::Opts>),
    Sqlite(PathBuf),
}

impl Query {
    /// Reads the database's URL. The error does not repeat it.
    pub fn new(url: &str, statement: Template) -> Result<Query> {
        let usage = "write postgres://USER:PASSWORD@HOST:PORT/NAME, mysql://... or sqlite:FILE";
        let (scheme, rest) = url.split_once(':').ok_or_else(|| anyhow!("--verify-sql: {usage}"))?;
        let database = match scheme {
            "postgres" | "postgresql" => {
                let config = url.parse().map_err(|_| anyhow!("--verify-sql: the URL cannot be read; {usage}"))?;
                Database::Postgres(Box::new(config))
            }
            "mysql" | "mariadb" => {
                let opts = mysql::Opts::from_url(&format!("mysql:{rest}"));
                Database::MySql(Box::new(opts.map_err(|_| anyhow!("--verify-sql: the URL cannot be read; {usage}"))?))
            }
            "sqlite" => Database::Sqlite(PathBuf::from(rest.strip_prefix("//").unwrap_or(rest))),
            other => bail!("--verify-sql: `{other}` is not spoken; {usage}"),
        };
        Ok(Query { database, statement })
    }

    /// The statement, with its placeholders open.
    pub fn statement(&self) -> &Template {
        &self.statement
    }

    /// Refuses databases that are neither near nor allowed.
    pub fn permit(&self, allowed: &[String]) -> Result<()> {
        let hosts: Vec<(String, u16)> = match &self.database {
            Database::Sqlite(_) => vec![],
            Database::MySql(opts) => vec![(opts.get_ip_or_hostname().into_owned(), opts.get_tcp_port())],
            Database::Postgres(config) => {
                let ports = config.get_ports();
                let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(5432);
                let hosts = config.get_hosts().iter().enumerate().filter_map(|(index, host)| match host {
                    postgres::config::Host::Tcp(host) => Some((host.clone(), port(index))),
                    _ => None,
                });
                hosts.collect()
            }
        };
        for (host, port) in hosts {
            let found = (host.as_str(), port).to_socket_addrs();
            let addresses = found.map_err(|_| anyhow!("--verify-sql: cannot find the host `{host}`"))?;
            for address in addresses {
                permit(&host, address.ip(), allowed)?;
            }
        }
        Ok(())
    }

    /// What the statement gives: one row as an object of its columns, several as a list of them, none as null.
    pub fn read(&self, statement: &str, timeout: Duration) -> Result<Value, String> {
        let statement = statement.trim().trim_end_matches(';');
        let mut rows = match &self.database {
            Database::Postgres(config) => postgres(config, statement, timeout),
            Database::MySql(opts) => mysql(opts, statement, timeout),
            Database::Sqlite(file) => sqlite(file, statement, timeout),
        }
        .map_err(|error| format!("--verify-sql '{statement}': {error:#}"))?;
        Ok(match rows.len() {
            0 => Value::Null,
            1 => rows.remove(0),
            _ => Value::Array(rows),
        })
    }
}

/// PostgreSQL makes JSON of the rows itself, so that every type comes out as what it is.
fn postgres(config: &postgres::Config, statement: &str, timeout: Duration) -> Result<Vec<Value>> {
    let mut config = config.clone();
    config.connect_timeout(timeout).application_name("lockcheck");
    let mut client = config.connect(postgres::NoTls).map_err(|error| anyhow!("{}", words(&error)))?;
    let limit = timeout.as_millis();
    client.batch_execute(&format!("BEGIN READ ONLY; SET LOCAL statement_timeout = {limit}"))?;
    let asked = client.simple_query(&format!("SELECT coalesce(json_agg(read), '[]')::text FROM ({statement}\n) AS read"));
    let answer = asked.map_err(|error| anyhow!("{}", words(&error)))?;
    let text = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    Ok(serde_json::from_str(text.unwrap_or("[]"))?)
}

/// What the server said, else what went wrong on the way.
fn words(error: &postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(said), _) => said.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

fn mysql(opts: &mysql::Opts, statement: &str, timeout: Duration) -> Result<Vec<Value>> {
    let opts = mysql::OptsBuilder::from_opts(opts.clone())
        .tcp_connect_timeout(Some(timeout))
        .read_timeout(Some(timeout))
        .write_timeout(Some(timeout))
        .prefer_socket(false);
    let mut connection = mysql::Conn::new(opts)?;
    connection.query_drop("START TRANSACTION READ ONLY")?;
    let rows: Vec<mysql::Row> = connection.query(statement)?;
    Ok(rows.iter().map(mysql_row).collect())
}

fn mysql_row(row: &mysql::Row) -> Value {
    let cell = |(index, column): (usize, &mysql::Column)| {
        let value = match row.as_ref(index) {
            Some(mysql::Value::Bytes(bytes)) => typed(&String::from_utf8_lossy(bytes), column.column_type()),
            Some(mysql::Value::Int(number)) => Value::from(*number),
            Some(mysql::Value::UInt(number)) => Value::from(*number),
            Some(mysql::Value::Float(number)) => Value::from(*number),
            Some(mysql::Value::Double(number)) => Value::from(*number),
            None | Some(_) => Value::Null,
        };
        (column.name_str().into_owned(), value)
    };
    Value::Object(row.columns_ref().iter().enumerate().map(cell).collect::<Map<_, _>>())
}

/// A number where the column holds numbers, else the text.
fn typed(text: &str, kind: ColumnType) -> Value {
    use ColumnType::*;
    let number = match kind {
        MYSQL_TYPE_TINY | MYSQL_TYPE_SHORT | MYSQL_TYPE_INT24 | MYSQL_TYPE_LONG | MYSQL_TYPE_LONGLONG | MYSQL_TYPE_YEAR => {
            text.parse::<i64>().ok().map(Value::from)
        }
        MYSQL_TYPE_DECIMAL | MYSQL_TYPE_NEWDECIMAL | MYSQL_TYPE_FLOAT | MYSQL_TYPE_DOUBLE => {
            text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<f64>().map(Value::from)).ok()
        }
        _ => None,
    };
    number.unwrap_or_else(|| Value::from(text))
}

fn sqlite(file: &PathBuf, statement: &str, timeout: Duration) -> Result<Vec<Value>> {
    ensure!(file.exists(), "there is no file {}", file.display());
    let connection = rusqlite::Connection::open_with_flags(file, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(timeout)?;
    let mut prepared = connection.prepare(statement)?;
    let names: Vec<String> = prepared.column_names().map(str::to_owned).collect();
    let mut rows = prepared.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let mut object = Map::new();
        for (index, name) in names.iter().enumerate() {
            let value = match row.get_ref(index)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::from(number),
                ValueRef::Real(number) => Value::from(number),
                ValueRef::Text(text) | ValueRef::Blob(text) => Value::from(String::from_utf8_lossy(text)),
            };
            object.insert(name.clone(), value);
        }
        all.push(Value::Object(object));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(url: &str) -> Result<Query> {
        Query::new(url, Template::parse("select 1", &|_| None, &mut Vec::new()).unwrap())
    }

    #[test]
    fn urls_are_read_and_never_repeated() {
        for url in ["postgres://a:hunter22@127.0.0.1:1/x", "mysql://a:hunter22@127.0.0.1/x", "mariadb://127.0.0.1/x", "sqlite:/x"]
        {
            query(url).unwrap().permit(&[]).unwrap();
        }
        for url in ["oracle://a:hunter22@h/", "postgres://a:hunter22@h:port/", "nonsense"] {
            let error = format!("{:#}", query(url).unwrap_err());
            assert!(error.contains("postgres://USER") && !error.contains("hunter22"), "{error}");
        }
        assert!(query("postgres://203.0.113.7/x").unwrap().permit(&[]).unwrap_err().to_string().contains("--allow-host"));
    }

    #[test]
    fn rows_of_a_file_are_read_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shop.db");
        let made = rusqlite::Connection::open(&file).unwrap();
        made.execute_batch("CREATE TABLE t (n INTEGER, x REAL, s TEXT); INSERT INTO t VALUES (3, 1.5, 'a'), (4, NULL, 'b')")
            .unwrap();
        let query = query(&format!("sqlite:{}", file.display())).unwrap();
        let read = |statement| query.read(statement, Duration::from_secs(1));
        assert_eq!(read("select n, x, s from t where n = 3;"), Ok(serde_json::json!({"n": 3, "x": 1.5, "s": "a"})));
        assert_eq!(read("select n from t"), Ok(serde_json::json!([{"n": 3}, {"n": 4}])));
        assert_eq!(read("select n from t where n = 9"), Ok(Value::Null));
        assert!(read("delete from t").unwrap_err().contains("readonly"));
        assert!(read("select nothing from t").unwrap_err().contains("nothing"));
    }
}
