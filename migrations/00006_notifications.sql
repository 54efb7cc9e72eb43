-- +goose Up
CREATE TABLE notifications (
    id           uuid PRIMARY KEY,
    agent_id     uuid NOT NULL REFERENCES agents,
    type         text NOT NULL,
    title        text NOT NULL,
    body         text,
    subject_type text NOT NULL,
    subject_id   uuid,
    data         jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(data) = 'object'),
    read_at      timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX notifications_inbox_idx ON notifications (agent_id, created_at DESC, id DESC);
CREATE INDEX notifications_type_idx ON notifications (agent_id, type, created_at DESC, id DESC);
CREATE INDEX notifications_unread_idx ON notifications (agent_id, created_at DESC, id DESC) WHERE read_at IS NULL;

-- +goose Down
DROP TABLE notifications;
