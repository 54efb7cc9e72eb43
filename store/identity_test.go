package store_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/apikey"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/storetest"
)

func TestSignupTakenUpAfterACrash(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	signup := store.Signup{ID: uuid.Must(uuid.NewV7()), Email: "ada@example.com", PasswordHash: "x", Agent: store.AgentProfile{Name: "one"}, Key: apikey.New()}
	// The first answer is lost between its commit and its being kept.
	firstUser, firstAgent, err := db.CreateUser(t.Context(), signup)
	if err != nil {
		t.Fatal(err)
	}
	lost := signup.Key
	signup.Key = apikey.New()
	user, agent, err := db.CreateUser(t.Context(), signup)
	if err != nil {
		t.Fatal(err)
	}
	if user.ID != firstUser.ID || agent.ID != firstAgent.ID {
		t.Errorf("a second user or agent was made: %v %v", user.ID, agent.ID)
	}
	if _, err := db.FindKeyHolder(t.Context(), lost.Prefix); !market.HasCode(err, "api_key_not_found") {
		t.Errorf("the key of the lost answer still works: %v", err)
	}
	if holder, err := db.FindKeyHolder(t.Context(), signup.Key.Prefix); err != nil || holder.AgentID != agent.ID {
		t.Errorf("the new key does not work: %v %v", holder.AgentID, err)
	}
}

func TestAddAgentTakenUpAfterACrash(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	owner := db.NewAgent(t, storetest.NewAgentOptions{})
	in := store.NewAgent{ID: uuid.Must(uuid.NewV7()), UserID: owner.UserID, AgentProfile: store.AgentProfile{Name: "second"}, Key: apikey.New()}
	for range 2 {
		in.Key = apikey.New()
		agent, err := db.AddAgent(t.Context(), in)
		if err != nil || agent.ID != in.ID {
			t.Fatalf("AddAgent = %v, %v", agent.ID, err)
		}
	}
	if _, err := db.FindKeyHolder(t.Context(), in.Key.Prefix); err != nil {
		t.Errorf("the last key does not work: %v", err)
	}
}
