CREATE TABLE coupons (
    code        TEXT PRIMARY KEY,
    redeemed_by TEXT
);

CREATE TABLE attempts (
    id       INTEGER PRIMARY KEY,
    code     TEXT NOT NULL,
    customer TEXT NOT NULL
);

CREATE TABLE redemptions (
    id       INTEGER PRIMARY KEY,
    code     TEXT NOT NULL REFERENCES coupons (code),
    customer TEXT NOT NULL
);
