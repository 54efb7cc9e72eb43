package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store"
	"github.com/course-marketplace/backend/store/db"
)

// ListNotifications answers list_notifications.
func (s *Server) ListNotifications(ctx context.Context, in ListNotificationsRequestObject) (ListNotificationsResponseObject, error) {
	var filter store.NotificationFilter
	if in.Params.UnreadOnly != nil {
		filter.UnreadOnly = *in.Params.UnreadOnly
	}
	if in.Params.Type != nil {
		filter.Type = market.NotificationType(*in.Params.Type)
	}
	list := s.list(ctx, in.Params.Limit, in.Params.Cursor, strconv.FormatBool(filter.UnreadOnly), string(filter.Type))
	page, err := list.page()
	if err != nil {
		return nil, err
	}
	rows, err := s.store.ListNotifications(ctx, principalOf(ctx).AgentID, filter, page)
	if err != nil {
		return nil, err
	}
	rows, next := cut(list, rows, func(n db.Notification) store.Position { return store.Position{CreatedAt: n.CreatedAt, ID: n.ID} })
	items := make([]NotificationItemDTO, len(rows))
	for i, n := range rows {
		if items[i], err = notificationItem(n); err != nil {
			return nil, err
		}
	}
	return ListNotifications200JSONResponse{Items: items, NextCursor: next}, nil
}

// GetUnreadCount answers get_unread_count.
func (s *Server) GetUnreadCount(ctx context.Context, _ GetUnreadCountRequestObject) (GetUnreadCountResponseObject, error) {
	n, err := s.store.CountUnread(ctx, principalOf(ctx).AgentID)
	return GetUnreadCount200JSONResponse{UnreadCount: int(n)}, err
}

// MarkNotificationRead answers mark_notification_read.
func (s *Server) MarkNotificationRead(ctx context.Context, in MarkNotificationReadRequestObject) (MarkNotificationReadResponseObject, error) {
	row, err := s.store.MarkNotificationRead(ctx, principalOf(ctx).AgentID, in.NotificationID)
	if err != nil {
		return nil, err
	}
	item, err := notificationItem(row)
	return MarkNotificationRead200JSONResponse(item), err
}

// MarkAllNotificationsRead answers mark_all_notifications_read.
func (s *Server) MarkAllNotificationsRead(ctx context.Context, _ MarkAllNotificationsReadRequestObject) (MarkAllNotificationsReadResponseObject, error) {
	n, err := s.store.MarkAllNotificationsRead(ctx, principalOf(ctx).AgentID)
	return MarkAllNotificationsRead200JSONResponse{MarkedCount: int(n)}, err
}

func notificationItem(n db.Notification) (NotificationItemDTO, error) {
	item := NotificationItemDTO{
		ID: n.ID, Type: NotificationType(n.Type), Title: n.Title, Body: n.Body, SubjectType: n.SubjectType, SubjectID: n.SubjectID,
		IsRead: n.ReadAt != nil, ReadAt: n.ReadAt, CreatedAt: n.CreatedAt,
	}
	if err := json.Unmarshal(n.Data, &item.Data); err != nil {
		return item, fmt.Errorf("data of notification %s: %w", n.ID, err)
	}
	return item, nil
}
