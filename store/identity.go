package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/course-marketplace/backend/internal/apikey"
	"github.com/course-marketplace/backend/internal/mailbox"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// Signup is a new user with its first agent.
type Signup struct {
	// ID becomes the user's; the zero value lets the store choose. The same ID again
	// makes nobody new: the agent made first gets Key, its earlier keys end.
	ID           uuid.UUID
	Email        string
	Name         *string
	PasswordHash string
	Agent        AgentProfile
	Key          apikey.Key
	// ReferralCode is the code of the user who referred this one; empty for none.
	ReferralCode string
	// Address is where the sign-up comes from, for limits on referrals.
	Address   string
	Referrals ReferralLimits
}

// AgentProfile is what a user says about an agent.
type AgentProfile struct {
	Name        string
	Description *string
}

// CreateUser makes a user, its first agent with its ledger accounts, its own referral
// code and, if it was referred, the attribution; all or nothing. It refuses a taken
// e-mail address (email_taken) and a referral that is unknown, the user's own or one
// of too many (referral_code_unknown, self_referral, abusive_referral).
func (s *Store) CreateUser(ctx context.Context, in Signup) (user db.User, agent db.Agent, err error) {
	in.ID = idOr(in.ID)
	err = s.inTx(ctx, func(t *tx) error {
		user, err = t.GetUser(ctx, in.ID)
		if errors.Is(err, pgx.ErrNoRows) {
			user, agent, err = t.insertUser(ctx, in)
			return err
		}
		if err != nil {
			return err
		}
		if agent, err = t.GetFirstAgent(ctx, in.ID); err != nil {
			return err
		}
		return t.replaceKeys(ctx, agent.ID, in.Key)
	})
	return user, agent, err
}

func (t *tx) insertUser(ctx context.Context, in Signup) (db.User, db.Agent, error) {
	user, err := t.InsertUser(ctx, db.InsertUserParams{
		ID: in.ID, Email: in.Email, Mailbox: mailbox.Of(in.Email), Name: in.Name, PasswordHash: in.PasswordHash,
	})
	if err != nil {
		return db.User{}, db.Agent{}, err
	}
	agent, err := t.insertAgent(ctx, newID(), user.ID, in.Agent, in.Key)
	if err != nil {
		return db.User{}, db.Agent{}, err
	}
	if err := t.giveReferralCode(ctx, user.ID); err != nil {
		return db.User{}, db.Agent{}, err
	}
	if in.ReferralCode != "" {
		if err := t.attribute(ctx, user, in); err != nil {
			return db.User{}, db.Agent{}, err
		}
	}
	return user, agent, t.audit(ctx, Actor{AgentID: agent.ID}, "user.created", "user", user.ID, nil)
}

func (t *tx) insertAgent(ctx context.Context, id, userID uuid.UUID, profile AgentProfile, key apikey.Key) (db.Agent, error) {
	agent, err := t.InsertAgent(ctx, db.InsertAgentParams{ID: id, UserID: userID, Name: profile.Name, Description: profile.Description})
	if err != nil {
		return db.Agent{}, err
	}
	if err := t.openAgentAccounts(ctx, agent.ID); err != nil {
		return db.Agent{}, err
	}
	return agent, t.replaceKeys(ctx, agent.ID, key)
}

// replaceKeys ends every key the agent has and gives it this one.
func (t *tx) replaceKeys(ctx context.Context, agentID uuid.UUID, key apikey.Key) error {
	if _, err := t.RevokeAPIKeys(ctx, agentID); err != nil {
		return err
	}
	return t.InsertAPIKey(ctx, db.InsertAPIKeyParams{Prefix: key.Prefix, AgentID: agentID, SecretHash: key.Hash()})
}

// NewAgent is a further agent of a user.
type NewAgent struct {
	// ID becomes the agent's; the zero value lets the store choose. The same ID
	// again makes no other agent, but Key replaces its key.
	ID     uuid.UUID
	UserID uuid.UUID
	AgentProfile
	Key apikey.Key
}

// AddAgent gives an active user another agent. It refuses a name that the user's
// agents bear already (agent_name_taken).
func (s *Store) AddAgent(ctx context.Context, in NewAgent) (agent db.Agent, err error) {
	in.ID = idOr(in.ID)
	err = s.inTx(ctx, func(t *tx) error {
		if err := t.checkActiveUser(ctx, in.UserID); err != nil {
			return err
		}
		agent, err = t.GetAgentOfUser(ctx, db.GetAgentOfUserParams{AgentID: in.ID, UserID: in.UserID})
		if err == nil {
			return t.replaceKeys(ctx, agent.ID, in.Key)
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if agent, err = t.insertAgent(ctx, in.ID, in.UserID, in.AgentProfile, in.Key); err != nil {
			return err
		}
		return t.audit(ctx, Actor{AgentID: agent.ID}, "agent.added", "agent", agent.ID, nil)
	})
	return agent, err
}

// RotateAPIKey ends every key of the user's agent at once and gives it key.
func (s *Store) RotateAPIKey(ctx context.Context, userID, agentID uuid.UUID, key apikey.Key) (agent db.Agent, err error) {
	err = s.inTx(ctx, func(t *tx) error {
		if err := t.checkActiveUser(ctx, userID); err != nil {
			return err
		}
		agent, err = t.LockAgentOfUser(ctx, db.LockAgentOfUserParams{AgentID: agentID, UserID: userID})
		if err != nil {
			return translate(err, "agent")
		}
		if agent.Status == market.AccountSuspended {
			return AgentSuspended()
		}
		if err := t.replaceKeys(ctx, agentID, key); err != nil {
			return err
		}
		if err := t.audit(ctx, Actor{AgentID: agentID}, "agent.api_key_rotated", "agent", agentID, map[string]any{"api_key_prefix": key.Prefix}); err != nil {
			return err
		}
		return t.notify(ctx, notice{
			to: agentID, kind: market.NotifyAPIKeyRotated, title: "Your API key was replaced",
			body:        "Every earlier key of this agent has stopped working. If this was not you, change the user's password.",
			subjectType: "agent", subjectID: agentID, data: map[string]any{"api_key_prefix": key.Prefix},
		})
	})
	return agent, err
}

// checkActiveUser refuses a suspended user and holds off a suspension until the
// transaction ends.
func (t *tx) checkActiveUser(ctx context.Context, userID uuid.UUID) error {
	user, err := t.LockUserStanding(ctx, userID)
	if err != nil {
		return translate(err, "user")
	}
	if user.Status == market.AccountSuspended {
		return UserSuspended()
	}
	return nil
}

// UserSuspended is what a suspended user is told.
func UserSuspended() error {
	return market.Forbidden("user_suspended", "The user is suspended; an administrator can reactivate it.")
}

// AgentSuspended is what a suspended agent is told.
func AgentSuspended() error {
	return market.Forbidden("agent_suspended", "The agent is suspended; an administrator can reactivate it.")
}

// GetUser returns the user with the given id.
func (s *Store) GetUser(ctx context.Context, id uuid.UUID) (db.User, error) {
	user, err := s.q.GetUser(ctx, id)
	return found(user, err, "user")
}

// FindUserByEmail returns the user with the given e-mail address, in any case.
func (s *Store) FindUserByEmail(ctx context.Context, email string) (db.User, error) {
	user, err := s.q.FindUserByEmail(ctx, email)
	return found(user, err, "user")
}

// KeyHolder is the agent that a key was issued to, with its user's standing and roles.
type KeyHolder = db.FindAPIKeyRow

// FindKeyHolder returns who holds the live key with this prefix. The caller compares
// the secret's hash.
func (s *Store) FindKeyHolder(ctx context.Context, prefix string) (KeyHolder, error) {
	row, err := s.q.FindAPIKey(ctx, prefix)
	return found(row, err, "api_key")
}

// GrantRole gives the user a role; it reports false if the user had it.
func (s *Store) GrantRole(ctx context.Context, userID uuid.UUID, role market.Role) (bool, error) {
	return s.changeRole(ctx, userID, role, "role.granted", func(t *tx) (int64, error) {
		return t.GrantRole(ctx, db.GrantRoleParams{UserID: userID, Role: role})
	})
}

// RevokeRole takes a role from the user; it reports false if the user did not have it.
func (s *Store) RevokeRole(ctx context.Context, userID uuid.UUID, role market.Role) (bool, error) {
	return s.changeRole(ctx, userID, role, "role.revoked", func(t *tx) (int64, error) {
		return t.RevokeRole(ctx, db.RevokeRoleParams{UserID: userID, Role: role})
	})
}

func (s *Store) changeRole(ctx context.Context, userID uuid.UUID, role market.Role, action string, change func(*tx) (int64, error)) (bool, error) {
	var changed bool
	err := s.inTx(ctx, func(t *tx) error {
		if _, err := t.GetUser(ctx, userID); err != nil {
			return translate(err, "user")
		}
		n, err := change(t)
		if changed = n > 0; err != nil || !changed {
			return err
		}
		return t.audit(ctx, Actor{}, action, "user", userID, map[string]any{"role": role})
	})
	return changed, err
}

// ListRoles returns the user's roles.
func (s *Store) ListRoles(ctx context.Context, userID uuid.UUID) ([]market.Role, error) {
	roles, err := s.q.ListUserRoles(ctx, userID)
	return roles, translate(err, "")
}
