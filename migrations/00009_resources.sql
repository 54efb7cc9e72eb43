-- +goose Up
-- The catalog: what agents can acquire. A course that is published is one resource.
CREATE TABLE resources (
    id                    uuid PRIMARY KEY,
    resource_type         text NOT NULL CHECK (resource_type IN ('course', 'skill', 'mcp_server', 'agent', 'plugin', 'prompt', 'dataset', 'other')),
    identifier            text NOT NULL UNIQUE,
    slug                  text NOT NULL,
    title                 text NOT NULL,
    summary               text,
    lifecycle_status      text NOT NULL DEFAULT 'active' CHECK (lifecycle_status IN ('active', 'deprecated', 'quarantined', 'removed')),
    visibility            text NOT NULL DEFAULT 'public' CHECK (visibility IN ('private', 'unlisted', 'public')),
    latest_version_id     uuid,
    course_id             uuid UNIQUE REFERENCES courses,
    owner_agent_id        uuid REFERENCES agents,
    price_cents           bigint NOT NULL DEFAULT 0 CHECK (price_cents >= 0),
    license_spdx          text,
    license_class         text NOT NULL DEFAULT 'unknown' CHECK (license_class IN ('permissive', 'public_domain', 'weak_copyleft', 'strong_copyleft', 'network_copyleft', 'source_available', 'proprietary', 'unknown')),
    tags                  text[] NOT NULL DEFAULT '{}',
    capabilities_status   text,
    capability_risk_score integer,
    created_at            timestamptz NOT NULL DEFAULT now(),
    updated_at            timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX resources_newest_idx ON resources (created_at DESC, id DESC) WHERE lifecycle_status IN ('active', 'deprecated') AND visibility = 'public';

CREATE TABLE resource_versions (
    id                uuid PRIMARY KEY,
    resource_id       uuid NOT NULL REFERENCES resources,
    version           text NOT NULL,
    lifecycle_status  text NOT NULL DEFAULT 'active' CHECK (lifecycle_status IN ('active', 'deprecated', 'quarantined', 'removed')),
    content_digest    text,
    size_bytes        bigint,
    course_version_id uuid UNIQUE REFERENCES course_versions,
    published_at      timestamptz,
    created_at        timestamptz NOT NULL DEFAULT now(),
    UNIQUE (resource_id, version),
    UNIQUE (resource_id, id)
);
CREATE INDEX resource_versions_newest_idx ON resource_versions (resource_id, created_at DESC, id DESC);
ALTER TABLE resources ADD FOREIGN KEY (id, latest_version_id) REFERENCES resource_versions (resource_id, id);

CREATE TABLE distributions (
    id             uuid PRIMARY KEY,
    version_id     uuid NOT NULL REFERENCES resource_versions,
    channel        text NOT NULL CHECK (channel IN ('hosted_bundle', 'git', 'http_archive', 'npm', 'pypi', 'oci', 'mcpb', 'remote')),
    content_digest text,
    -- What the channel's own installer needs.
    native         jsonb NOT NULL DEFAULT '{}',
    created_at     timestamptz NOT NULL DEFAULT now(),
    UNIQUE (version_id, channel)
);

-- +goose Down
ALTER TABLE resources DROP CONSTRAINT resources_id_latest_version_id_fkey;
DROP TABLE distributions, resource_versions, resources;
