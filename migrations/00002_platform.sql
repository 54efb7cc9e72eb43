-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;
-- +goose StatementEnd

-- Who did what to what. request_key names the request that asked for it, so that
-- a step that is run again after a crash recognises its own work.
CREATE TABLE audit_events (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action         text NOT NULL,
    subject_type   text NOT NULL,
    subject_id     uuid NOT NULL,
    actor_agent_id uuid REFERENCES agents,
    request_key    text,
    data           jsonb NOT NULL DEFAULT '{}',
    created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX audit_events_subject_idx ON audit_events (subject_id, id);
CREATE UNIQUE INDEX audit_events_request_key ON audit_events (subject_id, action, request_key) WHERE request_key IS NOT NULL;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE ON audit_events
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_events_no_truncate BEFORE TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- One row per Idempotency-Key in use. creation_id is the id that the created
-- thing gets, chosen before the work starts: a retry after a crash finds it.
CREATE TABLE idempotency_keys (
    scope        text NOT NULL,
    operation    text NOT NULL,
    key          text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    fingerprint  bytea NOT NULL,
    creation_id  uuid NOT NULL,
    locked_until timestamptz NOT NULL,
    status       integer,
    headers      jsonb,
    body         bytea,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (scope, operation, key)
);
CREATE INDEX idempotency_keys_expiry_idx ON idempotency_keys (expires_at);

CREATE TABLE rate_limits (
    bucket     text PRIMARY KEY,
    hits       integer NOT NULL,
    resets_at  timestamptz NOT NULL
);
CREATE INDEX rate_limits_expiry_idx ON rate_limits (resets_at);

CREATE TABLE feature_flags (
    key         text PRIMARY KEY,
    enabled     boolean NOT NULL DEFAULT false,
    description text NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now()
);
INSERT INTO feature_flags (key, description) VALUES
    ('resource_read_surface', 'Resource lists, reads, versions, acquisition plans and downloads.'),
    ('ai_catalog.ingestion', 'Ingestion of AI Catalog entries as resources.');

-- +goose Down
DROP TABLE feature_flags, rate_limits, idempotency_keys, audit_events;
DROP FUNCTION refuse_change;
