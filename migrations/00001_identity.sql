-- +goose Up
CREATE TABLE users (
    id                uuid PRIMARY KEY,
    email             text NOT NULL CHECK (length(email) BETWEEN 3 AND 320),
    -- The mailbox behind the address (case, dots and +tags of known providers removed):
    -- two addresses of one mailbox cannot refer each other.
    mailbox           text NOT NULL,
    name              text,
    password_hash     text NOT NULL,
    status            text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
    created_at        timestamptz NOT NULL DEFAULT now(),
    updated_at        timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX users_email_key ON users (lower(email));
CREATE INDEX users_mailbox_idx ON users (mailbox);

CREATE TABLE user_roles (
    user_id    uuid NOT NULL REFERENCES users,
    role       text NOT NULL CHECK (role IN ('admin', 'reviewer', 'support')),
    granted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, role)
);

CREATE TABLE agents (
    id                  uuid PRIMARY KEY,
    user_id             uuid NOT NULL REFERENCES users,
    name                text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    description         text,
    status              text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
    -- Set while the agent is down because its user was suspended: the user's
    -- reactivation restores exactly these.
    suspended_with_user boolean NOT NULL DEFAULT false,
    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz NOT NULL DEFAULT now(),
    CHECK (NOT suspended_with_user OR status = 'suspended')
);
CREATE UNIQUE INDEX agents_user_name_key ON agents (user_id, lower(name));

-- Only the SHA-256 of a key is kept; the prefix is what people may see and search by.
CREATE TABLE api_keys (
    prefix      text PRIMARY KEY,
    agent_id    uuid NOT NULL REFERENCES agents,
    secret_hash bytea NOT NULL CHECK (length(secret_hash) = 32),
    created_at  timestamptz NOT NULL DEFAULT now(),
    revoked_at  timestamptz
);
CREATE UNIQUE INDEX api_keys_live_key ON api_keys (agent_id) WHERE revoked_at IS NULL;

-- +goose Down
DROP TABLE api_keys, agents, user_roles, users;
