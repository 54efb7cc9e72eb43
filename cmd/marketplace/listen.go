package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// listener is an HTTP server with the limits that keep slow or hostile callers from
// holding connections forever.
type listener struct {
	server *http.Server
	socket net.Listener
	failed chan error
}

// listen binds addr and serves until shutdown. variable names the setting that
// addr comes from, for the error.
func listen(ctx context.Context, addr, variable string, handler http.Handler, logger *slog.Logger) (*listener, error) {
	socket, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (%s): %w", addr, variable, err)
	}
	l := &listener{
		socket: socket,
		failed: make(chan error, 1),
		server: &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: 10 * time.Second,
			// Uploads are up to 32 MiB, which slow lines need minutes for.
			ReadTimeout:    5 * time.Minute,
			WriteTimeout:   5 * time.Minute,
			IdleTimeout:    2 * time.Minute,
			MaxHeaderBytes: 32 << 10,
			ErrorLog:       slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		},
	}
	go func() {
		if err := l.server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			l.failed <- fmt.Errorf("serve on %s: %w", addr, err)
		}
	}()
	return l, nil
}

// address is where the listener listens, with the port the system chose for ":0".
func (l *listener) address() string { return l.socket.Addr().String() }

// shutdown stops accepting and waits up to timeout for requests under way.
func (l *listener) shutdown(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := l.server.Shutdown(ctx); err != nil {
		_ = l.server.Close()
		return fmt.Errorf("requests were still under way after %s: %w", timeout, err)
	}
	return nil
}
