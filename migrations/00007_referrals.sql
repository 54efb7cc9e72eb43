-- +goose Up
CREATE TABLE referral_codes (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users,
    code       text NOT NULL UNIQUE,
    is_default boolean NOT NULL DEFAULT false,
    status     text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
    label      text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX referral_codes_default_key ON referral_codes (user_id) WHERE is_default;

CREATE TABLE referral_attributions (
    id               uuid PRIMARY KEY,
    code_id          uuid NOT NULL REFERENCES referral_codes,
    referrer_user_id uuid NOT NULL REFERENCES users,
    referred_user_id uuid NOT NULL UNIQUE REFERENCES users,
    status           text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'active', 'expired', 'reversed', 'blocked')),
    attributed_at    timestamptz NOT NULL DEFAULT now(),
    CHECK (referrer_user_id <> referred_user_id)
);
CREATE INDEX referral_attributions_referrer_idx ON referral_attributions (referrer_user_id, attributed_at DESC, id DESC);
CREATE INDEX referral_attributions_code_idx ON referral_attributions (code_id, attributed_at);

-- +goose Down
DROP TABLE referral_attributions, referral_codes;
