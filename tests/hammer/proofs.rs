//! From scan to proof: a plan written from findings, and what the experiments say of each.

use std::fs;
use std::path::Path;
use std::process::Command;

use lockcheck::hammer::Verdict;
use serde_json::{Value, json};

use super::plans::planned;
use super::service::{Guard, copies};

const SHOP: &str = r#"
const express = require("express");
const { Pool } = require("pg");
const app = express();
app.use(express.json());
const pool = new Pool();
const redeemed = new Set();
const sold = new Set();

app.post("/coupons/:code/redeem", async (req, res) => {
  const { code } = req.params;
  if (redeemed.has(code)) return res.status(409).end();
  redeemed.add(code);
  await pool.query("INSERT INTO redemptions (code, customer) VALUES ($1, $2)", [code, req.body.customer]);
  res.json({ ok: true });
});

app.post("/tickets", async (req, res) => {
  const { seat, buyer } = req.body;
  if (sold.has(seat)) return res.status(409).end();
  sold.add(seat);
  await pool.query("INSERT INTO tickets (seat, buyer) VALUES ($1, $2)", [seat, buyer]);
  res.json({ ok: true });
});
app.listen(process.env.PORT);
"#;

const STORE: &str = r#"
from fastapi import FastAPI
from pydantic import BaseModel
import psycopg

app = FastAPI()
seen = set()

class Order(BaseModel):
    item: str
    buyer: str

@app.post("/orders")
async def order(order: Order):
    if order.item in seen:
        return {"ok": False}
    seen.add(order.item)
    with psycopg.connect("") as db:
        db.execute("INSERT INTO orders (item, buyer) VALUES (%s, %s)", (order.item, order.buyer))
    return {"ok": True}
"#;

/// One fault below routers that hang below others: the folder's files, and the path that a request needs.
const MOUNTED: [(&[(&str, &str)], &str); 9] = [
    (
        &[
            (
                "orders.js",
                r#"
const express = require("express");
const { Pool } = require("pg");
const pool = new Pool();
const router = express.Router();
const paid = new Set();
router.post("/:id/pay", async (req, res) => {
  if (paid.has(req.params.id)) return res.status(409).end();
  paid.add(req.params.id);
  await pool.query("INSERT INTO payments (id) VALUES ($1)", [req.params.id]);
  res.end();
});
module.exports = router;
"#,
            ),
            (
                "app.js",
                "const express = require('express');\nconst orders = require('./orders');\nconst app = express();\n\
                 const api = express.Router();\napi.use('/orders', orders);\napp.use('/api', api);\napp.listen(3000);\n",
            ),
        ],
        "/api/orders/{{fresh}}/pay",
    ),
    (
        &[(
            "orders.controller.ts",
            r#"
import { Controller, Param, Post } from '@nestjs/common';
import { Pool } from 'pg';
const pool = new Pool();
const paid = new Set<string>();
@Controller('orders')
export class OrdersController {
  @Post(':id/pay')
  async pay(@Param('id') id: string) {
    if (paid.has(id)) return;
    paid.add(id);
    await pool.query('INSERT INTO payments (id) VALUES ($1)', [id]);
  }
}
"#,
        )],
        "/orders/{{fresh}}/pay",
    ),
    (
        &[(
            "shop.py",
            r#"
from fastapi import APIRouter, FastAPI
import psycopg
router = APIRouter(prefix="/orders")
paid = set()
@router.post("/{order}/pay")
def pay(order: str):
    if order in paid:
        return {"ok": False}
    paid.add(order)
    with psycopg.connect("") as db:
        db.execute("INSERT INTO payments (id) VALUES (%s)", (order,))
    return {"ok": True}
app = FastAPI()
app.include_router(router, prefix="/api")
"#,
        )],
        "/api/orders/{{fresh}}/pay",
    ),
    (
        &[(
            "site.py",
            r#"
from flask import Blueprint, Flask
import psycopg
orders = Blueprint("orders", __name__, url_prefix="/old")
paid = set()
@orders.post("/<order>/pay")
def pay(order):
    if order in paid:
        return "no", 409
    paid.add(order)
    with psycopg.connect("") as db:
        db.execute("INSERT INTO payments (id) VALUES (%s)", (order,))
    return "yes"
app = Flask(__name__)
app.register_blueprint(orders, url_prefix="/orders")
"#,
        )],
        "/orders/{{fresh}}/pay",
    ),
    (
        &[
            (
                "orders/views.py",
                r#"
import psycopg
from django.http import HttpResponse
from django.views.decorators.http import require_POST
paid = set()
@require_POST
def pay(request, order):
    if order in paid:
        return HttpResponse(status=409)
    paid.add(order)
    with psycopg.connect("") as db:
        db.execute("INSERT INTO payments (id) VALUES (%s)", (order,))
    return HttpResponse("yes")
"#,
            ),
            (
                "orders/urls.py",
                "from django.urls import path\nfrom . import views\nurlpatterns = [path('<str:order>/pay', views.pay)]\n",
            ),
            ("orders/__init__.py", ""),
            ("site/__init__.py", ""),
            ("site/api.py", "from django.urls import include, path\nurlpatterns = [path('orders/', include('orders.urls'))]\n"),
            (
                "site/urls.py",
                "from django.urls import include, path\nurlpatterns = [path('api/', include(('site.api', 'api')))]\n",
            ),
        ],
        "/api/orders/{{fresh}}/pay",
    ),
    (
        &[
            (
                "src/orders/orders.controller.ts",
                r#"
import { Controller, Param, Post } from '@nestjs/common';
import { Pool } from 'pg';
const pool = new Pool();
const paid = new Set<string>();
@Controller('orders')
export class OrdersController {
  @Post(':id/pay')
  async pay(@Param('id') id: string) {
    if (paid.has(id)) return;
    paid.add(id);
    await pool.query('INSERT INTO payments (id) VALUES ($1)', [id]);
  }
}
"#,
            ),
            (
                "src/main.ts",
                "import { NestFactory } from '@nestjs/core';\nimport { AppModule } from './app.module';\n\
                 async function bootstrap() {\n  const app = await NestFactory.create(AppModule);\n\
                 app.setGlobalPrefix('api/v1');\n  await app.listen(3000);\n}\nbootstrap();\n",
            ),
        ],
        "/api/v1/orders/{{fresh}}/pay",
    ),
    (
        &[
            (
                "orders/views.py",
                r#"
import psycopg
from django.http import HttpResponse
from django.views import View
paid = set()
class Pay(View):
    def post(self, request, order):
        if order in paid:
            return HttpResponse(status=409)
        paid.add(order)
        with psycopg.connect("") as db:
            db.execute("INSERT INTO payments (id) VALUES (%s)", (order,))
        return HttpResponse("yes")
"#,
            ),
            (
                "orders/urls.py",
                "from django.urls import path\nfrom .views import Pay\nurlpatterns = [path('<str:order>/pay', Pay.as_view())]\n",
            ),
            ("orders/__init__.py", ""),
            ("site/urls.py", "from django.urls import include, path\nurlpatterns = [path('orders/', include('orders.urls'))]\n"),
        ],
        "/orders/{{fresh}}/pay",
    ),
    (
        &[
            (
                "orders/views.py",
                r#"
import psycopg
from rest_framework.decorators import action
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet
paid = set()
class Orders(GenericViewSet):
    @action(detail=True, methods=["post"])
    def pay(self, request, pk):
        if pk in paid:
            return Response(status=409)
        paid.add(pk)
        with psycopg.connect("") as db:
            db.execute("INSERT INTO payments (id) VALUES (%s)", (pk,))
        return Response({})
"#,
            ),
            (
                "orders/urls.py",
                "from django.urls import include, path\nfrom rest_framework.routers import DefaultRouter\n\
                 from .views import Orders\nrouter = DefaultRouter()\nrouter.register('orders', Orders)\n\
                 urlpatterns = [path('api/', include(router.urls))]\n",
            ),
            ("orders/__init__.py", ""),
        ],
        "/api/orders/{{fresh}}/pay",
    ),
    (
        &[(
            "shop.py",
            r#"
from flask import Flask
from flask_restful import Api, Resource
import psycopg
app = Flask(__name__)
api = Api(app)
paid = set()
class Pay(Resource):
    def post(self, order):
        if order in paid:
            return {}, 409
        paid.add(order)
        with psycopg.connect("") as db:
            db.execute("INSERT INTO payments (id) VALUES (%s)", (order,))
        return {}
api.add_resource(Pay, "/orders/<order>/pay")
"#,
        )],
        "/orders/{{fresh}}/pay",
    ),
];

#[test]
fn a_path_is_below_what_its_router_hangs_below() {
    for (files, path) in MOUNTED {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let (plan, _) = scanned(folder.path());
        assert!(plan.contains(&format!("path = '{path}'")), "{path}\n---\n{plan}");
    }
}

/// Scans a folder and writes the plan: its text and the scan's JSON.
fn scanned(folder: &Path) -> (String, Value) {
    let plan = folder.join("hammer.toml");
    let output = Command::new(env!("CARGO_BIN_EXE_lockcheck"))
        .args(["scan", "--format", "json", "--plan"])
        .arg(&plan)
        .arg(folder)
        .output()
        .unwrap();
    let text = fs::read_to_string(plan).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (text, serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn a_scan_writes_a_scenario_for_each_request_that_findings_reach() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("shop.js", SHOP), ("store.py", STORE)] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    for name in ["guarded_by_mutex.rs", "service.rs", "mod.rs"] {
        fs::copy(Path::new("src/demo").join(name), folder.path().join(name)).unwrap();
    }
    let (plan, _) = scanned(folder.path());
    for scenario in [
        "request = \"POST\"\npath = '/coupons/{{fresh}}/redeem'",
        "request = \"POST\"\npath = '/tickets'",
        "data = '{\"customer\":\"{{n}}\"}'",
        "data = '{\"seat\":\"{{fresh}}\",\"buyer\":\"{{n}}\"}'",
        "[scenario.post-orders]\n",
        "data = '{\"item\":\"{{fresh}}\",\"buyer\":\"{{n}}\"}'",
        "[scenario.post-redeem]\n",
        "data = '{\"code\":\"{{fresh}}\",\"customer\":\"{{n}}\"}'",
    ] {
        assert!(plan.contains(scenario), "{scenario}\n---\n{plan}");
    }
    let again = Command::new(env!("CARGO_BIN_EXE_lockcheck"))
        .args(["scan", "--plan"])
        .arg(folder.path().join("hammer.toml"))
        .arg(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.code() == Some(2) && said.contains("is it there already?"), "{said}");
}

/// What the experiments say of each finding.
fn outcomes(report: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = report["findings"].as_array().unwrap().iter();
    all.map(|one| (text(&one["rule"]), text(&one["outcome"]), text(&one["why"]))).collect()
}

#[test]
fn findings_are_confirmed_refuted_or_not_tested() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shop.js"), SHOP).unwrap();
    let (plan, scan) = scanned(folder.path());
    let findings = folder.path().join("scan.json");
    fs::write(&findings, scan.to_string()).unwrap();
    let words = ["--findings", findings.to_str().unwrap(), "--format", "json", "-n", "24"];

    let confirming = copies(Guard::ProcessSet, 2);
    let urls: Vec<&str> = confirming.urls.iter().flat_map(|url| ["--url", url.as_str()]).collect();
    let tickets = ["--only", "post-tickets", "--path", "/redeem", "--data", "{\"code\":\"{{fresh}}\"}"];
    let (verdict, json) = planned(&plan, &[&words[..], &urls, &tickets].concat());
    assert_eq!(verdict.unwrap(), Verdict::Broken, "{json}");
    let report: Value = serde_json::from_str(&json).unwrap();
    let mut said = outcomes(&report);
    said.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(said.len(), 2, "{report:#}");
    assert_eq!((said[0].0.as_str(), said[0].1.as_str()), ("process-guard", "confirmed"), "{report:#}");
    assert_eq!(said[1].1, "untested", "the other request was not sent: {report:#}");
    assert!(said[1].2.contains("no scenario sends POST /coupons/:code/redeem"), "{}", said[1].2);

    let sound = copies(Guard::UniqueKey, 2);
    let urls: Vec<&str> = sound.urls.iter().flat_map(|url| ["--url", url.as_str()]).collect();
    let (verdict, json) = planned(&plan, &[&words[..], &urls, &tickets].concat());
    assert_eq!(verdict.unwrap(), Verdict::Held, "{json}");
    let report: Value = serde_json::from_str(&json).unwrap();
    let refuted = outcomes(&report).into_iter().find(|one| one.1 == "refuted").unwrap();
    assert!(refuted.2.contains("all at once across copies held"), "{}", refuted.2);
}

#[test]
fn what_an_experiment_cannot_show_is_not_called_refuted() {
    let sound = copies(Guard::UniqueKey, 1);
    let claim = |rule: &str, path: &str| json!({"rule": rule, "path": "a.js", "line": 1, "fingerprint": rule, "endpoint": {"method": "POST", "path": path, "fields": []}});
    let rules = ["check-then-insert", "process-lock", "lock-without-fence", "lock-without-expiry", "lock-coarse-key"];
    let claims: Vec<Value> = rules.iter().map(|rule| claim(rule, "/redeem")).chain([claim("lost-update", "/other")]).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), json!({"schema_version": "1", "findings": claims}).to_string()).unwrap();
    let plan = format!(
        "[scenario.a]\nurl = ['{}/redeem']\ndata = '{{\"code\":\"{{{{fresh}}}}\"}}'\nrounds = 2\n[scenario.b]\npath = '/TODO'\n",
        sound.urls[0]
    );
    let words = ["--findings", file.path().to_str().unwrap(), "-n", "24"];
    let (error, text) = planned(&plan, &words);
    assert!(format!("{:#}", error.unwrap_err()).contains("b: still to be filled in"), "{text}");
    for says in [
        "check-then-insert at a.js:1: refuted under these conditions: all at once on one copy held",
        "process-lock at a.js:1: not tested: it takes a second copy",
        "lock-without-fence at a.js:1: not tested: it takes a copy that is stopped",
        "lock-without-expiry at a.js:1: not tested: it takes a copy that is killed",
        "lock-coarse-key at a.js:1: not tested: no experiment shows this rule",
        "lost-update at a.js:1: not tested: no scenario sends POST /other",
        "0 confirmed, 1 refuted under these conditions, 5 not tested",
    ] {
        assert!(text.contains(says), "{says}\n---\n{text}");
    }
    for (format, says) in
        [("junit", "<skipped message=\"not tested: it takes a second copy\"/>"), ("github", "::notice file=a.js,line=1")]
    {
        let (_, text) = planned(&plan, &[&words[..], &["--format", format]].concat());
        assert!(text.contains(says), "{says}\n---\n{text}");
    }
}

#[test]
fn a_file_that_is_no_scan_is_said() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "[]").unwrap();
    let message = super::error(&["--url", "http://127.0.0.1/", "--findings", file.path().to_str().unwrap()]);
    assert!(message.contains("lockcheck scan --format json"), "{message}");
}
