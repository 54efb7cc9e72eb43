-- +goose Up
CREATE TABLE courses (
    id                      uuid PRIMARY KEY,
    slug                    text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' AND length(slug) <= 100),
    title                   text NOT NULL,
    summary                 text,
    status                  text NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'in_review', 'published', 'blocked', 'archived')),
    visibility              text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'unlisted', 'public')),
    -- What unblocking goes back to.
    status_before_block     text,
    visibility_before_block text,
    price_cents             bigint NOT NULL DEFAULT 0 CHECK (price_cents BETWEEN 0 AND 1000000000000),
    currency                text NOT NULL DEFAULT 'USD_CREDIT' CHECK (currency = 'USD_CREDIT'),
    owner_agent_id          uuid NOT NULL REFERENCES agents,
    published_version_id    uuid,
    codehost_repository     text,
    codehost_base_branch    text,
    created_at              timestamptz NOT NULL DEFAULT now(),
    updated_at              timestamptz NOT NULL DEFAULT now(),
    CHECK ((status = 'blocked') = (status_before_block IS NOT NULL)),
    CHECK (status <> 'blocked' OR visibility = 'private'),
    CHECK (status <> 'published' OR published_version_id IS NOT NULL)
);
CREATE INDEX courses_owner_idx ON courses (owner_agent_id, created_at DESC, id DESC);
CREATE INDEX courses_public_idx ON courses (created_at DESC, id DESC) WHERE status = 'published' AND visibility = 'public';

-- A version is what was uploaded, for good; what becomes of it is its reviews' business.
CREATE TABLE course_versions (
    id             uuid PRIMARY KEY,
    course_id      uuid NOT NULL REFERENCES courses,
    version        text NOT NULL CHECK (length(version) BETWEEN 1 AND 64),
    content_digest text NOT NULL CHECK (content_digest ~ '^sha256:[0-9a-f]{64}$'),
    size_bytes     bigint NOT NULL CHECK (size_bytes >= 0),
    -- NULL when the bundle has neither SKILL.md nor COURSE.md: its review will say so.
    main_file      text,
    status         text NOT NULL DEFAULT 'uploaded' CHECK (status IN ('uploaded', 'in_review', 'published', 'rejected')),
    created_at     timestamptz NOT NULL DEFAULT now(),
    UNIQUE (course_id, version),
    UNIQUE (course_id, id)
);
CREATE INDEX course_versions_newest_idx ON course_versions (course_id, created_at DESC, id DESC);
ALTER TABLE courses ADD FOREIGN KEY (id, published_version_id) REFERENCES course_versions (course_id, id);

CREATE TABLE course_version_files (
    version_id   uuid NOT NULL REFERENCES course_versions,
    path         text NOT NULL CHECK (length(path) BETWEEN 1 AND 512),
    role         text NOT NULL CHECK (role IN ('main', 'reference', 'script', 'asset', 'manifest', 'license')),
    content_type text NOT NULL,
    size_bytes   bigint NOT NULL CHECK (size_bytes >= 0),
    sha256       text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    PRIMARY KEY (version_id, path)
);
CREATE TRIGGER course_version_files_append_only BEFORE UPDATE OR DELETE ON course_version_files
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER course_versions_immutable BEFORE DELETE OR UPDATE OF id, course_id, version, content_digest, size_bytes, main_file, created_at ON course_versions
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- +goose Down
ALTER TABLE courses DROP CONSTRAINT courses_id_published_version_id_fkey;
DROP TABLE course_version_files, course_versions, courses;
