-- +goose Up
CREATE TABLE publication_reviews (
    id                     uuid PRIMARY KEY,
    course_id              uuid NOT NULL REFERENCES courses,
    version_id             uuid NOT NULL,
    -- What was asked to be published; an approval of anything else is refused.
    content_digest         text NOT NULL,
    initiated_by           uuid NOT NULL REFERENCES agents,
    status                 text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'scanning', 'human_review', 'approved', 'rejected', 'failed', 'cancelled')),

    -- What the scanner said. The verdict is advice to the reviewer, who decides.
    scanner_version        text,
    rule_pack_version      text,
    verdict                text CHECK (verdict IN ('allow', 'review', 'block')),
    risk_score             integer CHECK (risk_score BETWEEN 0 AND 100),
    highest_severity       text CHECK (highest_severity IN ('info', 'low', 'medium', 'high', 'critical')),
    findings_count         integer NOT NULL DEFAULT 0,
    capabilities_status    text CHECK (capabilities_status IN ('pending', 'matched', 'mismatched', 'not_declared', 'indeterminate')),
    capability_risk_score  integer CHECK (capability_risk_score BETWEEN 0 AND 100),
    capability_mismatches  jsonb,
    declared_capabilities  jsonb,
    observed_capabilities  jsonb,
    needs_acknowledgement  boolean NOT NULL DEFAULT false,
    -- An RFC 6902 patch that makes the declaration cover what was observed.
    declaration_patch      jsonb,

    -- What was decided, by whom, and why.
    decision_reason        text,
    reviewer_notes         text,
    capability_reason_code text,
    acknowledged           boolean NOT NULL DEFAULT false,
    reviewed_by_user_id    uuid REFERENCES users,
    reviewed_by_agent_id   uuid REFERENCES agents,
    failure_code           text,

    started_at             timestamptz,
    -- When the scan had ended, well or badly.
    completed_at           timestamptz,
    reviewed_at            timestamptz,
    created_at             timestamptz NOT NULL DEFAULT now(),
    updated_at             timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (course_id, version_id) REFERENCES course_versions (course_id, id),
    CHECK (status NOT IN ('human_review', 'approved') OR completed_at IS NOT NULL),
    CHECK (status <> 'approved' OR (reviewed_at IS NOT NULL AND reviewed_by_user_id IS NOT NULL)),
    CHECK (status <> 'rejected' OR decision_reason IS NOT NULL),
    CHECK (status <> 'approved' OR acknowledged OR NOT needs_acknowledgement),
    CHECK ((status = 'failed') = (failure_code IS NOT NULL))
);
-- A course has one live review at a time.
CREATE UNIQUE INDEX publication_reviews_live_key ON publication_reviews (course_id) WHERE status IN ('queued', 'scanning', 'human_review');
CREATE INDEX publication_reviews_latest_idx ON publication_reviews (course_id, created_at DESC, id DESC);
CREATE INDEX publication_reviews_queue_idx ON publication_reviews (created_at, id) WHERE status = 'human_review';

-- What each layer of the scanner saw, as it said it. Written by the layers' activities,
-- so that nothing large passes through a workflow.
CREATE TABLE review_layers (
    review_id  uuid NOT NULL REFERENCES publication_reviews,
    layer      text NOT NULL,
    result     jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (review_id, layer)
);

-- One row allows one GET of one file of a version. Only the ticket's hash is kept.
CREATE TABLE file_tickets (
    token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
    version_id uuid NOT NULL,
    path       text NOT NULL,
    issued_to  uuid NOT NULL REFERENCES agents,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (version_id, path) REFERENCES course_version_files (version_id, path)
);
CREATE INDEX file_tickets_expiry_idx ON file_tickets (expires_at);

CREATE VIEW publication_review_details AS
SELECT r.*, c.title AS course_title, c.status AS course_status, c.owner_agent_id, a.user_id AS owner_user_id
FROM publication_reviews r JOIN courses c ON c.id = r.course_id JOIN agents a ON a.id = c.owner_agent_id;

-- +goose Down
DROP VIEW publication_review_details;
DROP TABLE file_tickets, review_layers, publication_reviews;
