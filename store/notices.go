package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// notice is a notification to be written with the change that it tells of.
type notice struct {
	to          uuid.UUID
	kind        market.NotificationType
	title       string
	body        string
	subjectType string
	subjectID   uuid.UUID
	data        map[string]any
}

// notify puts the notices into their recipients' inboxes.
func (t *tx) notify(ctx context.Context, notices ...notice) error {
	for _, n := range notices {
		data, err := marshalObject(n.data)
		if err != nil {
			return err
		}
		p := db.InsertNotificationParams{ID: newID(), AgentID: n.to, Type: n.kind, Title: n.title,
			SubjectType: n.subjectType, SubjectID: &n.subjectID, Data: data}
		if n.body != "" {
			p.Body = &n.body
		}
		if err := t.InsertNotification(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// audit records who did what. With a request key it can be recorded once only.
func (t *tx) audit(ctx context.Context, by Actor, action, subjectType string, subjectID uuid.UUID, data map[string]any) error {
	raw, err := marshalObject(data)
	if err != nil {
		return err
	}
	p := db.InsertAuditParams{Action: action, SubjectType: subjectType, SubjectID: subjectID, Data: raw}
	if by.AgentID != uuid.Nil {
		p.ActorAgentID = &by.AgentID
	}
	if by.RequestKey != "" {
		p.RequestKey = &by.RequestKey
	}
	return t.InsertAudit(ctx, p)
}

// wasDone reports whether this very request has made the change before.
func (t *tx) wasDone(ctx context.Context, by Actor, action string, subjectID uuid.UUID) (bool, error) {
	if by.RequestKey == "" {
		return false, nil
	}
	return t.WasDone(ctx, db.WasDoneParams{SubjectID: subjectID, Action: action, RequestKey: &by.RequestKey})
}

func marshalObject(v map[string]any) (json.RawMessage, error) {
	if v == nil {
		return json.RawMessage(`{}`), nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode data: %w", err)
	}
	return raw, nil
}
