package api

import (
	"context"
	"strings"

	"github.com/course-marketplace/backend/internal/apikey"
	"github.com/course-marketplace/backend/internal/mailbox"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/db"
)

// CreateUserWithAgent answers create_user_with_agent.
func (s *Server) CreateUserWithAgent(ctx context.Context, in CreateUserWithAgentRequestObject) (CreateUserWithAgentResponseObject, error) {
	email, isEmail := mailbox.Parse(in.Body.Email)
	agentName := strings.TrimSpace(in.Body.AgentName)
	if err := checkIdentity(agentName, isEmail); err != nil {
		return nil, err
	}
	address := addressKey(ctx)
	if err := s.limit(ctx, "signup:"+address, s.limits.Signups); err != nil {
		return nil, err
	}
	hash, err := s.passwords.Hash(ctx, in.Body.UserPassword)
	if err != nil {
		return nil, err
	}
	key := apikey.New()
	user, agent, err := s.store.CreateUser(ctx, store.Signup{
		ID: creationID(ctx), Email: email, Name: trimmed(in.Body.UserName), PasswordHash: hash,
		Agent: store.AgentProfile{Name: agentName, Description: trimmed(in.Body.AgentDescription)}, Key: key,
		ReferralCode: orEmpty(trimmed(in.Body.ReferralCode)), Address: address, Referrals: s.limits.Referrals,
	})
	if err != nil {
		return nil, err
	}
	return CreateUserWithAgent201JSONResponse{
		User: userRecord(user), Agent: agentRecord(agent), APIKey: key.Text(), APIKeyPrefix: key.Prefix,
	}, nil
}

// AddAgentToUser answers add_agent_to_user. The user's password is the credential.
func (s *Server) AddAgentToUser(ctx context.Context, in AddAgentToUserRequestObject) (AddAgentToUserResponseObject, error) {
	name := strings.TrimSpace(in.Body.AgentName)
	if err := checkIdentity(name, true); err != nil {
		return nil, err
	}
	if err := s.checkPassword(ctx, in.UserID, in.Body.UserPassword); err != nil {
		return nil, err
	}
	key := apikey.New()
	agent, err := s.store.AddAgent(ctx, store.NewAgent{
		ID: creationID(ctx), UserID: in.UserID, Key: key,
		AgentProfile: store.AgentProfile{Name: name, Description: trimmed(in.Body.AgentDescription)},
	})
	if err != nil {
		return nil, err
	}
	return AddAgentToUser201JSONResponse{Agent: agentRecord(agent), APIKey: key.Text(), APIKeyPrefix: key.Prefix}, nil
}

// RotateAgentAPIKey answers rotate_agent_api_key. Earlier keys end with its commit.
func (s *Server) RotateAgentAPIKey(ctx context.Context, in RotateAgentAPIKeyRequestObject) (RotateAgentAPIKeyResponseObject, error) {
	if err := s.checkPassword(ctx, in.UserID, in.Body.UserPassword); err != nil {
		return nil, err
	}
	key := apikey.New()
	agent, err := s.store.RotateAPIKey(ctx, in.UserID, in.AgentID, key)
	if err != nil {
		return nil, err
	}
	return RotateAgentAPIKey200JSONResponse{Agent: agentRecord(agent), APIKey: key.Text(), APIKeyPrefix: key.Prefix}, nil
}

// checkPassword refuses everything but the user's password in the same way and in the
// same time, so that nobody learns which users exist. Only who knows the password is
// told that the user is suspended.
func (s *Server) checkPassword(ctx context.Context, userID UserID, password string) error {
	if err := s.limitPasswordCheck(ctx, userID); err != nil {
		return err
	}
	user, err := s.store.GetUser(ctx, userID)
	if err != nil && !market.HasCode(err, "user_not_found") {
		return err
	}
	right, err := s.passwords.Verify(ctx, user.PasswordHash, password)
	switch {
	case err != nil:
		return err
	case !right:
		return market.Unauthenticated("invalid_credentials", "The user and the password do not belong together.")
	case user.Status == market.AccountSuspended:
		return store.UserSuspended()
	}
	return nil
}

// checkIdentity finds what the schema cannot: names of nothing but spaces, and what
// is no e-mail address.
func checkIdentity(agentName string, isEmail bool) error {
	var fields []market.FieldError
	if agentName == "" {
		fields = append(fields, market.FieldError{Loc: []any{"body", "agent_name"}, Msg: "must not be blank", Type: "string_too_short"})
	}
	if !isEmail {
		fields = append(fields, market.FieldError{Loc: []any{"body", "email"}, Msg: "must be an e-mail address", Type: "value_error"})
	}
	if len(fields) > 0 {
		return &market.InvalidError{Fields: fields}
	}
	return nil
}

// trimmed is the text without the spaces around it; nil if nothing is left.
func trimmed(text *string) *string {
	if text == nil {
		return nil
	}
	t := strings.TrimSpace(*text)
	if t == "" {
		return nil
	}
	return &t
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func userRecord(u db.User) UserResponse {
	return UserResponse{ID: u.ID, Email: u.Email, Name: u.Name, Status: AccountStatus(u.Status), CreatedAt: u.CreatedAt, UpdatedAt: u.UpdatedAt}
}

func agentRecord(a db.Agent) AgentResponse {
	return AgentResponse{
		ID: a.ID, UserID: a.UserID, Name: a.Name, Description: a.Description, Status: AccountStatus(a.Status),
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
}
