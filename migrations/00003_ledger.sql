-- +goose Up
-- A double-entry ledger. Amounts are integer cents. Postings are append-only; an
-- account's balance is the sum of its postings. Credits are positive, debits negative.
CREATE TABLE ledger_accounts (
    id            uuid PRIMARY KEY,
    kind          text NOT NULL CHECK (kind IN ('agent.available', 'agent.payable', 'bounty.escrow',
                                                'platform.fees', 'platform.promotions', 'platform.external')),
    -- The agent or bounty the account belongs to; NULL for the platform's own.
    owner_id      uuid,
    currency      text NOT NULL DEFAULT 'USD_CREDIT' CHECK (currency = 'USD_CREDIT'),
    -- Kept by the trigger on postings for accounts of agents and bounties. NULL for the
    -- platform's accounts: every movement touches one of those, and a running balance
    -- would make them the row that all writers queue for.
    balance_cents bigint CONSTRAINT ledger_balance_not_negative CHECK (balance_cents >= 0),
    frozen_at     timestamptz,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    CHECK ((kind LIKE 'platform.%') = (owner_id IS NULL)),
    CHECK ((kind LIKE 'platform.%') = (balance_cents IS NULL)),
    CHECK (frozen_at IS NULL OR kind = 'agent.available')
);
CREATE UNIQUE INDEX ledger_accounts_owner_key ON ledger_accounts (owner_id, kind, currency) NULLS NOT DISTINCT;

CREATE TABLE ledger_transactions (
    id              uuid PRIMARY KEY,
    idempotency_key text NOT NULL UNIQUE,
    kind            text NOT NULL CHECK (kind IN ('grant', 'escrow_funded', 'escrow_refunded', 'payout', 'purchase', 'referral_reward')),
    reference_type  text,
    reference_id    uuid,
    memo            text,
    -- Postings may only join in the database transaction that made this row.
    written_in      xid8 NOT NULL DEFAULT pg_current_xact_id(),
    created_at      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE ledger_postings (
    id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transaction_id      uuid NOT NULL REFERENCES ledger_transactions,
    account_id          uuid NOT NULL REFERENCES ledger_accounts,
    amount_cents        bigint NOT NULL CHECK (amount_cents <> 0 AND abs(amount_cents) <= 1000000000000),
    -- The account's balance right after this posting; NULL on platform accounts.
    balance_after_cents bigint,
    created_at          timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ledger_postings_account_idx ON ledger_postings (account_id, id);
CREATE INDEX ledger_postings_transaction_idx ON ledger_postings (transaction_id);

-- +goose StatementBegin
CREATE FUNCTION ledger_apply_posting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM ledger_transactions t
                   WHERE t.id = NEW.transaction_id AND t.written_in = pg_current_xact_id()) THEN
        RAISE EXCEPTION 'ledger transaction % is closed', NEW.transaction_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'ledger_transaction_closed';
    END IF;
    UPDATE ledger_accounts SET balance_cents = balance_cents + NEW.amount_cents, updated_at = now()
        WHERE id = NEW.account_id AND balance_cents IS NOT NULL
        RETURNING balance_cents INTO NEW.balance_after_cents;
    IF NOT FOUND THEN
        NEW.balance_after_cents := NULL;
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION ledger_check_balanced() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    posted record;
BEGIN
    SELECT count(*) AS n, coalesce(sum(amount_cents), 0) AS total INTO posted
        FROM ledger_postings WHERE transaction_id = NEW.id;
    IF posted.n < 2 OR posted.total <> 0 THEN
        RAISE EXCEPTION 'ledger transaction % is not balanced: % postings sum to %', NEW.id, posted.n, posted.total
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'ledger_transaction_balanced';
    END IF;
    RETURN NULL;
END $$;

-- A balance changes through postings alone: the trigger above runs one level deep,
-- anybody else's UPDATE arrives at depth one.
CREATE FUNCTION ledger_guard_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' AND coalesce(NEW.balance_cents, 0) = 0 THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' AND pg_trigger_depth() > 1 THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the balance of ledger account % changes through postings only', NEW.id
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'ledger_balance_from_postings';
END $$;
-- +goose StatementEnd

CREATE TRIGGER ledger_postings_apply BEFORE INSERT ON ledger_postings
    FOR EACH ROW EXECUTE FUNCTION ledger_apply_posting();
CREATE CONSTRAINT TRIGGER ledger_transactions_balanced AFTER INSERT ON ledger_transactions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_check_balanced();
CREATE TRIGGER ledger_accounts_opening_balance BEFORE INSERT ON ledger_accounts
    FOR EACH ROW EXECUTE FUNCTION ledger_guard_balance();
CREATE TRIGGER ledger_accounts_balance BEFORE UPDATE OF balance_cents ON ledger_accounts
    FOR EACH ROW WHEN (OLD.balance_cents IS DISTINCT FROM NEW.balance_cents) EXECUTE FUNCTION ledger_guard_balance();
CREATE TRIGGER ledger_accounts_identity BEFORE UPDATE OF id, kind, owner_id, currency ON ledger_accounts
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER ledger_accounts_no_delete BEFORE DELETE ON ledger_accounts
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_transactions_append_only BEFORE UPDATE OR DELETE ON ledger_transactions
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_postings_append_only BEFORE UPDATE OR DELETE ON ledger_postings
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_accounts_no_truncate BEFORE TRUNCATE ON ledger_accounts
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_transactions_no_truncate BEFORE TRUNCATE ON ledger_transactions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_postings_no_truncate BEFORE TRUNCATE ON ledger_postings
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

INSERT INTO ledger_accounts (id, kind) VALUES
    ('00000000-0000-7000-8000-000000000001', 'platform.external'),
    ('00000000-0000-7000-8000-000000000002', 'platform.fees'),
    ('00000000-0000-7000-8000-000000000003', 'platform.promotions');

-- +goose Down
DROP TABLE ledger_postings, ledger_transactions, ledger_accounts;
DROP FUNCTION ledger_apply_posting, ledger_check_balanced, ledger_guard_balance;
