-- +goose Up
CREATE TABLE bounties (
    id                     uuid PRIMARY KEY,
    course_id              uuid NOT NULL REFERENCES courses,
    creator_agent_id       uuid NOT NULL REFERENCES agents,
    title                  text NOT NULL,
    description            text NOT NULL,
    reward_amount_cents    bigint NOT NULL CHECK (reward_amount_cents BETWEEN 100 AND 1000000000000),
    currency               text NOT NULL DEFAULT 'USD_CREDIT' CHECK (currency = 'USD_CREDIT'),
    status                 text NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'open', 'awarded', 'paid', 'cancelled', 'expired')),
    funding_mode           text NOT NULL DEFAULT 'escrow' CHECK (funding_mode = 'escrow'),
    funding_status         text NOT NULL DEFAULT 'unfunded' CHECK (funding_status IN ('unfunded', 'pending', 'funded', 'released', 'refunded', 'failed')),
    -- The ledger transaction that put the reward into escrow.
    funding_id             uuid REFERENCES ledger_transactions,
    funded_at              timestamptz,
    accepted_submission_id uuid,
    accepts_codehost_prs   boolean NOT NULL DEFAULT true,
    submission_deadline    timestamptz,
    -- Set when it was opened first: from then on others may see it.
    opened_at              timestamptz,
    created_at             timestamptz NOT NULL DEFAULT now(),
    updated_at             timestamptz NOT NULL DEFAULT now(),
    CHECK ((funding_id IS NULL) = (funded_at IS NULL)),
    CHECK ((funding_status IN ('funded', 'released', 'refunded')) = (funding_id IS NOT NULL)),
    CHECK ((status IN ('awarded', 'paid')) = (accepted_submission_id IS NOT NULL)),
    CHECK (status NOT IN ('open', 'awarded') OR (funding_status = 'funded' AND opened_at IS NOT NULL)),
    CHECK ((status = 'paid') = (funding_status = 'released')),
    CHECK (funding_status <> 'refunded' OR status IN ('cancelled', 'expired'))
);
CREATE INDEX bounties_open_idx ON bounties (created_at DESC, id DESC) WHERE status = 'open';
CREATE INDEX bounties_creator_idx ON bounties (creator_agent_id, created_at DESC, id DESC);
CREATE INDEX bounties_course_idx ON bounties (course_id);

CREATE TABLE bounty_submissions (
    id                         uuid PRIMARY KEY,
    bounty_id                  uuid NOT NULL REFERENCES bounties,
    submitter_agent_id         uuid NOT NULL REFERENCES agents,
    title                      text NOT NULL,
    description                text NOT NULL,
    evidence                   jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(evidence) = 'object'),
    codehost_pr                boolean NOT NULL DEFAULT false,
    proposed_course_version_id uuid REFERENCES course_versions,
    status                     text NOT NULL DEFAULT 'submitted' CHECK (status IN ('submitted', 'accepted', 'rejected', 'withdrawn', 'not_selected')),
    created_at                 timestamptz NOT NULL DEFAULT now(),
    updated_at                 timestamptz NOT NULL DEFAULT now(),
    UNIQUE (bounty_id, id)
);
-- One live submission per agent, one accepted submission per bounty.
CREATE UNIQUE INDEX bounty_submissions_live_key ON bounty_submissions (bounty_id, submitter_agent_id) WHERE status = 'submitted';
CREATE UNIQUE INDEX bounty_submissions_accepted_key ON bounty_submissions (bounty_id) WHERE status = 'accepted';
CREATE INDEX bounty_submissions_bounty_idx ON bounty_submissions (bounty_id, created_at DESC, id DESC);
CREATE INDEX bounty_submissions_submitter_idx ON bounty_submissions (submitter_agent_id, bounty_id);
ALTER TABLE bounties ADD FOREIGN KEY (id, accepted_submission_id) REFERENCES bounty_submissions (bounty_id, id);

CREATE TABLE bounty_payouts (
    id                        uuid PRIMARY KEY,
    bounty_id                 uuid NOT NULL UNIQUE REFERENCES bounties,
    submission_id             uuid NOT NULL,
    recipient_agent_id        uuid NOT NULL REFERENCES agents,
    amount_cents              bigint NOT NULL CHECK (amount_cents > 0),
    marketplace_fee_cents     bigint NOT NULL CHECK (marketplace_fee_cents >= 0),
    seller_net_amount_cents   bigint NOT NULL CHECK (seller_net_amount_cents >= 0),
    currency                  text NOT NULL DEFAULT 'USD_CREDIT' CHECK (currency = 'USD_CREDIT'),
    idempotency_key           text NOT NULL UNIQUE,
    status                    text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'held', 'submitted', 'settled', 'failed', 'reversed')),
    creator_payable_balance_id uuid REFERENCES ledger_accounts,
    ledger_transaction_id     uuid REFERENCES ledger_transactions,
    failure_code              text,
    failure_detail            text,
    -- How often a settlement was begun: 1 for the first, one more for each retry.
    attempts                  integer NOT NULL DEFAULT 0,
    submitted_at              timestamptz,
    settled_at                timestamptz,
    created_at                timestamptz NOT NULL DEFAULT now(),
    updated_at                timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (bounty_id, submission_id) REFERENCES bounty_submissions (bounty_id, id),
    CHECK (amount_cents = marketplace_fee_cents + seller_net_amount_cents),
    CHECK ((status IN ('settled', 'reversed')) = (settled_at IS NOT NULL AND ledger_transaction_id IS NOT NULL)),
    CHECK ((status = 'failed') = (failure_code IS NOT NULL))
);
CREATE INDEX bounty_payouts_newest_idx ON bounty_payouts (created_at DESC, id DESC);
CREATE INDEX bounty_payouts_status_idx ON bounty_payouts (status, created_at DESC, id DESC);

-- What readers of a bounty, a submission or a payout see of the rows around it.
CREATE VIEW bounty_details AS
SELECT b.*, c.title AS course_title, c.status AS course_status, c.codehost_repository,
    (SELECT count(*) FROM bounty_submissions s WHERE s.bounty_id = b.id) AS submission_count
FROM bounties b JOIN courses c ON c.id = b.course_id;

CREATE VIEW bounty_submission_details AS
SELECT s.*, a.name AS submitter_agent_name
FROM bounty_submissions s JOIN agents a ON a.id = s.submitter_agent_id;

CREATE VIEW bounty_payout_details AS
SELECT p.*, a.name AS recipient_agent_name, b.title AS bounty_title
FROM bounty_payouts p JOIN agents a ON a.id = p.recipient_agent_id JOIN bounties b ON b.id = p.bounty_id;

-- +goose Down
DROP VIEW bounty_payout_details, bounty_submission_details, bounty_details;
ALTER TABLE bounties DROP CONSTRAINT bounties_id_accepted_submission_id_fkey;
DROP TABLE bounty_payouts, bounty_submissions, bounties;
