package api

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/course-marketplace/backend/internal/bundle"
)

// filesPath is where single-use links lead. A link carries its own credential, so the
// operation is not in the contract and takes no API key.
const filesPath = "/files/"

// serveTicketFile answers the one GET that a ticket allows, straight from storage. The
// file is opened before the ticket is used up: an outage of storage costs no ticket.
func (s *Server) serveTicketFile(w http.ResponseWriter, r *http.Request) {
	hash, err := bundle.HashTicket(chi.URLParam(r, "ticket"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ticket, err := s.store.FindFileTicket(r.Context(), hash)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	f := bundle.File{Path: ticket.File.Path, Role: bundle.Role(ticket.File.Role), ContentType: ticket.File.ContentType,
		SizeBytes: ticket.File.SizeBytes, SHA256: ticket.File.Sha256,
		Key: bundle.FileKey(ticket.CourseID, ticket.File.VersionID, ticket.File.Sha256)}
	body, err := s.storage.OpenFile(r.Context(), f)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer func() { _ = body.Close() }()
	if err := s.store.ConsumeFileTicket(r.Context(), hash); err != nil {
		s.fail(w, r, err)
		return
	}
	if err := bundle.ServeFile(w, f, body); err != nil {
		// The header is out: all that is left is to cut the answer short.
		s.log.WarnContext(r.Context(), "file not delivered in full", "path", f.Path, "error", err)
		panic(http.ErrAbortHandler)
	}
}
