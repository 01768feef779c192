CREATE TABLE IF NOT EXISTS coupons (
    code        TEXT PRIMARY KEY,
    redeemed_by TEXT
);

CREATE TABLE IF NOT EXISTS attempts (
    id       INTEGER PRIMARY KEY,
    code     TEXT NOT NULL,
    customer TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS redemptions (
    id       INTEGER PRIMARY KEY,
    code     TEXT NOT NULL REFERENCES coupons (code),
    customer TEXT NOT NULL
);
