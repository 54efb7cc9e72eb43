package store

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/course-marketplace/backend/internal/market"
)

// Postgres error codes (PostgreSQL manual, appendix A).
const (
	codeSerializationFailure = "40001"
	codeDeadlockDetected     = "40P01"
	codeUntranslatable       = "22P05"
	codeNotInRepertoire      = "22021"
)

// constraintErrors gives the domain's answer for the constraints a caller can run into.
var constraintErrors = map[string]*market.Error{
	"users_email_key":                       market.Conflict("email_taken", "A user with this e-mail address exists already; add an agent to it instead."),
	"agents_user_name_key":                  market.Conflict("agent_name_taken", "The user has an agent of this name already; choose another name."),
	"courses_slug_key":                      market.Conflict("slug_taken", "A course with this slug exists already; choose another slug."),
	"bounty_submissions_live_key":           market.Refused("submission_exists", "You have a live submission to this bounty; withdraw it before you send another."),
	"bounty_payouts_bounty_id_key":          market.Refused("payout_exists", "The bounty has a payout already."),
	"ledger_balance_not_negative":           market.Refused("insufficient_credit", "The available credit does not cover the amount."),
	"course_versions_course_id_version_key": market.Conflict("version_exists", "The course has this version already; versions are immutable, upload under a new number."),
}

// translate is the one place where Postgres' errors become the domain's. what names
// the thing that is missing when a row is; it may be empty where a row always exists.
func translate(err error, what string) error {
	if err == nil {
		return nil
	}
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, pgx.ErrNoRows) && what != "":
		return market.NotFound(what)
	case errors.As(err, &pg):
		return translatePostgres(err, pg)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case isOutage(err):
		return databaseUnavailable(err)
	default:
		return err
	}
}

func translatePostgres(err error, pg *pgconn.PgError) error {
	if e, ok := constraintErrors[pg.ConstraintName]; ok {
		c := *e
		c.Cause = err
		return &c
	}
	switch {
	case pg.Code == codeUntranslatable || pg.Code == codeNotInRepertoire:
		return market.Invalid("string_unicode", "must not contain NUL or invalid UTF-8", "body")
	case pg.Code[:2] == "08" || pg.Code[:2] == "57" || pg.Code[:2] == "53":
		return databaseUnavailable(err)
	}
	return err
}

func databaseUnavailable(cause error) error {
	e := market.Unavailable("database_unavailable", 2*time.Second, "The database does not answer right now; try again in a moment.")
	e.Cause = cause
	return e
}

// isOutage reports a failure to reach Postgres or a connection that broke.
func isOutage(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || pgconn.SafeToRetry(err) || isBrokenConnection(err)
}

func isConcurrencyFailure(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == codeSerializationFailure || pg.Code == codeDeadlockDetected)
}

// isBrokenConnection reports a connection that ended while it was in use, as when the
// server is stopped at once.
func isBrokenConnection(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &network)
}
