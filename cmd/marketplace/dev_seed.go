package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/apikey"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/internal/password"
	"github.com/course-marketplace/backend/store"
)

// devCredit is what each agent that trades begins with, in cents.
const devCredit int64 = 1_000_000_00

// seedAgent is one of the agents that a development stack begins with.
type seedAgent struct {
	name  string
	roles []market.Role
	// credit in cents; 0 for none
	credit int64
}

var seedAgents = []seedAgent{
	{name: "admin", roles: []market.Role{market.RoleAdmin}},
	{name: "reviewer", roles: []market.Role{market.RoleReviewer}},
	{name: "support", roles: []market.Role{market.RoleSupport}},
	{name: "creator", credit: devCredit},
	{name: "contributor", credit: devCredit},
}

// id is the user's, and that of the grant: the same at every start, so that what is
// there already is found and not made again.
func (a seedAgent) id() uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("marketplace-dev/"+a.name))
}

// prepareDatabase migrates the database and puts in it what development begins with.
func (d *development) prepareDatabase(ctx context.Context, out io.Writer) error {
	applied, err := store.Migrate(ctx, d.stack.DatabaseURL)
	if err != nil {
		return err
	}
	if applied > 0 {
		fmt.Fprintf(out, "%-12s applied %d migrations\n", "database", applied)
	}
	s, err := store.Open(ctx, d.stack.DatabaseURL, store.Options{MaxConns: 2})
	if err != nil {
		return err
	}
	defer s.Close()
	earlier, err := readCredentials(d.credentialsPath())
	if err != nil {
		return err
	}
	if earlier.Agents == nil {
		if err := s.EnableAllFeatureFlags(ctx); err != nil {
			return err
		}
	}
	seeder := &seeder{store: s, hasher: password.NewHasher(password.Recommended), earlier: earlier.Agents}
	d.credentials = d.endpointCredentials()
	for _, a := range seedAgents {
		if d.credentials.Agents[a.name], err = seeder.ensure(ctx, a); err != nil {
			return fmt.Errorf("seed %s: %w", a.name, err)
		}
	}
	return nil
}

func (d *development) endpointCredentials() credentials {
	e := d.stack.Endpoints
	return credentials{
		BaseURL: d.baseURL(), TemporalUIURL: e.TemporalUIURL, TemporalAddress: e.TemporalAddress, Namespace: e.Namespace,
		DatabaseURL: e.DatabaseURL, S3Endpoint: e.S3.Endpoint, Agents: map[string]agentCredential{},
	}
}

// seeder makes the agents that are missing.
type seeder struct {
	store   *store.Store
	hasher  *password.Hasher
	earlier map[string]agentCredential
}

// ensure returns the agent with a key that works: the one of the last start, if it
// still does.
func (s *seeder) ensure(ctx context.Context, a seedAgent) (agentCredential, error) {
	credential, works, err := s.keptKey(ctx, a)
	if err != nil || works {
		return credential, err
	}
	// The password is random and told to nobody: its keys are all these agents need.
	hash, err := s.hasher.Hash(ctx, rand.Text())
	if err != nil {
		return agentCredential{}, err
	}
	signup := store.Signup{
		ID: a.id(), Email: a.name + "@marketplace.test", PasswordHash: hash,
		Agent: store.AgentProfile{Name: a.name}, Key: apikey.New(),
	}
	user, agent, err := s.store.CreateUser(ctx, signup)
	if err != nil {
		return agentCredential{}, err
	}
	for _, role := range a.roles {
		if _, err := s.store.GrantRole(ctx, user.ID, role); err != nil {
			return agentCredential{}, err
		}
	}
	credential = agentCredential{UserID: user.ID, AgentID: agent.ID, APIKey: signup.Key.Text()}
	return credential, s.ensureCredit(ctx, a, agent.ID)
}

// keptKey returns the key of the last start and whether it still works.
func (s *seeder) keptKey(ctx context.Context, a seedAgent) (agentCredential, bool, error) {
	kept := s.earlier[a.name]
	key, ok := apikey.Parse(kept.APIKey)
	if !ok {
		return kept, false, nil
	}
	holder, err := s.store.FindKeyHolder(ctx, key.Prefix)
	if market.HasCode(err, "api_key_not_found") {
		return kept, false, nil
	}
	works := err == nil && key.Matches(holder.SecretHash) && holder.AgentID == kept.AgentID && holder.UserID == kept.UserID
	return kept, works, err
}

func (s *seeder) ensureCredit(ctx context.Context, a seedAgent, agentID uuid.UUID) error {
	if a.credit == 0 {
		return nil
	}
	entries, err := s.store.ListCreditEntries(ctx, agentID, math.MaxInt64, 1)
	if err != nil || len(entries) > 0 {
		return err
	}
	_, err = s.store.GrantCredits(ctx, store.Grant{
		ID: a.id(), AgentID: agentID, AmountCents: a.credit, Currency: market.Currency, Reason: "development credit",
	}, store.Actor{})
	return err
}
