//! A finding proposes the cure in the words of the library at hand, and the rule's own where that library has none.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;

use lockcheck::rules::Catalogue;
use lockcheck::scan::{ScanOptions, scan};

/// The rule and the cure of the only finding in one file.
fn found(path: &str, text: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(path), text).unwrap();
    let report = scan(&ScanOptions { root: folder.path().to_owned(), ..ScanOptions::default() }, &|_| {}).unwrap();
    let [finding] = &report.findings[..] else { panic!("{path}: {:?}", report.findings) };
    (finding.rule.clone(), finding.help.clone())
}

fn javascript(import: &str, write: &str) -> (String, String) {
    let text = format!(
        "import express from 'express';\n{import}\nconst sent = new Set();\nconst app = express();\n\
         app.post('/send/:id', async (req, res) => {{\n  if (sent.has(req.params.id)) return res.sendStatus(409);\n  \
         sent.add(req.params.id);\n  {write}\n  res.sendStatus(204);\n}});\n"
    );
    found("send.js", &text)
}

fn python(import: &str, write: &str) -> (String, String) {
    let text = format!(
        "from fastapi import FastAPI\n{import}\napp = FastAPI()\nsent = set()\n\n\n@app.post(\"/send/{{id}}\")\n\
         async def send(id: int):\n    if id in sent:\n        return\n    sent.add(id)\n    {write}\n"
    );
    found("send.py", &text)
}

#[test]
fn the_cure_speaks_of_the_library_that_writes() {
    let cases = [
        (
            javascript(
                "import { Pool } from 'pg';\nconst db = new Pool();",
                "await db.query('INSERT INTO mails (paid) VALUES ($1)', [1]);",
            ),
            "result.rowCount",
        ),
        (
            javascript(
                "import mysql from 'mysql2/promise';\nconst db = mysql.createPool({});",
                "await db.execute('INSERT INTO mails (paid) VALUES (?)', [1]);",
            ),
            "result.affectedRows",
        ),
        (
            python(
                "import asyncpg\ndb = asyncpg.create_pool(\"postgres://db\")",
                "await db.execute(\"INSERT INTO mails (paid) VALUES ($1)\", 1)",
            ),
            "conn.fetchval",
        ),
        (
            python(
                "import psycopg\ndb = psycopg.connect(\"postgres://db\")",
                "db.execute(\"INSERT INTO mails (paid) VALUES (%s)\", (1,))",
            ),
            "cur.rowcount",
        ),
    ];
    for ((rule, help), words) in cases {
        assert_eq!(rule, "process-guard");
        assert!(help.contains(words), "`{words}` is not in: {help}");
    }
}

#[test]
fn a_store_and_a_scheduler_have_words_of_their_own() {
    let lock = "import Redis from 'ioredis';\nconst redis = new Redis();\nexport async function run(work) {\n  \
                const got = await redis.set('run:lock', String(Math.random()), 'NX');\n  if (got !== 'OK') return;\n  await work();\n}\n";
    let (rule, help) = found("lock.js", lock);
    assert_eq!(rule, "lock-without-expiry");
    assert!(help.contains("redis.set("), "{help}");
    let job = "import cron from 'node-cron';\nimport axios from 'axios';\ncron.schedule('0 3 * * *', async () => {\n  \
               await axios.post('https://mail.example/send', {});\n});\n";
    let (rule, help) = found("job.js", job);
    assert_eq!(rule, "unleased-job");
    assert_ne!(help, Catalogue::builtin().unwrap().get("unleased-job").unwrap().help, "the scheduler's pack has words for it");
}

#[test]
fn without_a_library_the_rule_speaks() {
    let (rule, help) = javascript("import { save } from './elsewhere';", "await saveMail(req.params.id);");
    assert_eq!(rule, "process-guard");
    assert_eq!(help, Catalogue::builtin().unwrap().get("process-guard").unwrap().help);
}

#[test]
fn a_unique_key_is_proposed_only_where_one_could_decide() {
    let setup = |asked: &str, values: &str| {
        let text = format!(
            "import express from 'express';\nimport {{ Pool }} from 'pg';\nconst db = new Pool();\nconst app = express();\n\
             app.post('/setup/:name', async (req, res) => {{\n  const {{ rows }} = await db.query({asked});\n  \
             if (rows.length > 0) return res.sendStatus(409);\n  await db.query('INSERT INTO admins (name) VALUES ($1)', {values});\n  \
             res.sendStatus(204);\n}});\n"
        );
        found("setup.js", &text)
    };
    let (rule, first) = setup("'SELECT id FROM admins'", "[req.params.name]");
    assert_eq!(rule, "check-then-insert");
    assert!(first.starts_with("No unique key"), "{first}");
    let (rule, named) = setup("'SELECT id FROM admins WHERE name = $1', [req.params.name]", "[req.params.name]");
    assert_eq!(rule, "check-then-insert");
    assert!(!named.starts_with("No unique key"), "{named}");
}
