package main

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/course-marketplace/backend/internal/config"
	"github.com/course-marketplace/backend/internal/seal"
)

func newCodecCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "codec",
		Short: "Open sealed payloads for the Temporal Web UI",
		Long: "Serves the Temporal codec protocol: an operator whose Web UI points here reads the inputs,\n" +
			"results and summaries of workflows, which are sealed everywhere else. Whoever reaches it\n" +
			"reads every payload: keep it on loopback or behind the operators' sign-in.",
		Args: cobra.NoArgs,
		RunE: runCodec,
	}
}

func runCodec(cmd *cobra.Command, _ []string) error {
	ctx := cmd.Context()
	cfg, err := config.Load(config.Codec)
	if err != nil {
		return err
	}
	sealer, err := seal.New(cfg.Seal.Keyset.Reveal())
	if err != nil {
		return keysetError(err)
	}
	logger := newLogger(cfg, string(config.Codec))
	mux := http.NewServeMux()
	mux.Handle("/", seal.CodecHandler(sealer, cfg.Seal.CodecAllowedOrigins))
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	l, err := listen(ctx, cfg.Seal.CodecAddr, "MARKETPLACE_CODEC_ADDR", mux, logger)
	if err != nil {
		return err
	}
	logger.InfoContext(ctx, "opening payloads", "address", l.address(), "for", cfg.Seal.CodecAllowedOrigins)
	select {
	case err = <-l.failed:
		return err
	case <-ctx.Done():
		return l.shutdown(cfg.Process.ShutdownTimeout)
	}
}
