package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// NotificationFilter narrows an agent's inbox. The zero value shows everything.
type NotificationFilter struct {
	UnreadOnly bool
	Type       market.NotificationType
}

// ListNotifications returns a page of the agent's inbox, newest first.
func (s *Store) ListNotifications(ctx context.Context, agentID uuid.UUID, f NotificationFilter, p Page) ([]db.Notification, error) {
	params := db.ListNotificationsParams{
		AgentID: agentID, UnreadOnly: f.UnreadOnly, BeforeAt: p.before(), BeforeID: p.beforeID(), PageSize: p.size(),
	}
	if f.Type != "" {
		kind := string(f.Type)
		params.Type = &kind
	}
	rows, err := s.q.ListNotifications(ctx, params)
	return rows, translate(err, "")
}

// CountUnread returns how many of the agent's notifications are unread.
func (s *Store) CountUnread(ctx context.Context, agentID uuid.UUID) (int64, error) {
	n, err := s.q.CountUnread(ctx, agentID)
	return n, translate(err, "")
}

// MarkNotificationRead marks one of the agent's notifications as read; again is no error.
func (s *Store) MarkNotificationRead(ctx context.Context, agentID, id uuid.UUID) (db.Notification, error) {
	row, err := s.q.MarkNotificationRead(ctx, db.MarkNotificationReadParams{ID: id, AgentID: agentID})
	return found(row, err, "notification")
}

// MarkAllNotificationsRead marks the agent's whole inbox as read and returns how many
// notifications were unread.
func (s *Store) MarkAllNotificationsRead(ctx context.Context, agentID uuid.UUID) (int64, error) {
	n, err := s.q.MarkAllNotificationsRead(ctx, agentID)
	return n, translate(err, "")
}
