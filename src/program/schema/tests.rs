use super::*;

fn sql(text: &str) -> Schema {
    let mut schema = Schema::default();
    schema.add_sql(text);
    schema
}

fn keys(schema: &Schema, table: &str) -> Vec<String> {
    schema.keys(table).iter().map(|key| key.columns.join("+")).collect()
}

#[test]
fn keys_of_tables_constraints_and_indexes_are_found() {
    let text = "CREATE TABLE coupons (code text PRIMARY KEY, n int);\nCREATE TABLE uses (id int, code text, who text, UNIQUE (code, who));\n\
                CREATE UNIQUE INDEX u ON uses (id);\nCREATE UNIQUE INDEX l ON uses (lower(who));";
    let schema = sql(text);
    assert_eq!(keys(&schema, "coupon"), ["code"]);
    assert_eq!(keys(&schema, "use"), ["code+who", "id", "who"]);
}

#[test]
fn what_is_dropped_again_is_no_key() {
    let schema = sql(
        "CREATE TABLE t (a int UNIQUE, b int);\nCREATE UNIQUE INDEX tb ON t (b);\nDROP INDEX tb;\nALTER TABLE t DROP CONSTRAINT t_a_key;",
    );
    assert!(schema.has("t"));
    assert_eq!(keys(&schema, "t"), [""; 0]);
}

#[test]
fn a_partial_key_speaks_of_some_rows() {
    let schema = sql("CREATE UNIQUE INDEX one ON seats (seat) WHERE released_at IS NULL AND NOT archived AND state = 'held';");
    let column = |name: &str, value: Value| Column { name: name.into(), kind: ColumnKind::Constant, value };
    let key = schema.keys("seat")[0];
    assert!(key.speaks_of(&[column("seat", Value::Unknown)]));
    assert!(key.speaks_of(&[column("state", Value::Text("held".into())), column("archived", Value::Bool(false))]));
    assert!(!key.speaks_of(&[column("state", Value::Text("sold".into()))]));
    assert!(!key.speaks_of(&[column("releasedat", Value::Number(1.0))]));
    assert!(!key.speaks_of(&[column("archived", Value::Bool(true))]));
}

#[test]
fn models_of_schema_files_have_keys_by_both_names() {
    let text = "model Membership {\n  id String @id @default(cuid()) // @unique\n  userId Int @map(\"user_id\")\n  team Team @relation(fields: [teamId], references: [id])\n  \
                teamId Int\n  email String? @unique @db.Text\n\n  @@unique([userId, teamId(sort: Desc)])\n  @@map(\"team_members\")\n}\n\
                model Plain {\n  id Int\n  note String\n}\n";
    let mut schema = Schema::default();
    schema.add_models(text);
    for table in ["membership", "teammember"] {
        assert_eq!(keys(&schema, table), ["id", "email", "userid+teamid", "userid+team"], "{table}");
    }
    assert!(schema.has("plain") && keys(&schema, "plain").is_empty());
    assert!(schema.same("membership", "teammember") && !schema.same("membership", "plain"));
}
