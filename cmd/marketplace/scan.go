package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/course-marketplace/backend/internal/scanner"
)

// The exit codes of "marketplace scan", so that a script can act on the verdict.
const (
	scanExitReview = 10
	scanExitBlock  = 20
	scanExitError  = 2
)

func newScanCommand() *cobra.Command {
	var asJSON, asSARIF bool
	failOn := "review"
	cmd := &cobra.Command{
		Use:   "scan PATH",
		Short: "Scan a folder, zip or tar.gz as a publication review would",
		Long: `Scan reads a course or skill bundle with the scanner that publication reviews use, before anything is uploaded. It runs nothing.

Exit codes: 0 verdict allow (or milder than --fail-on), 10 review, 20 block, 2 the bundle could not be scanned.`,
		Args:          cobra.ExactArgs(1),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole report as JSON")
	cmd.Flags().BoolVar(&asSARIF, "sarif", false, "print the findings as SARIF 2.1.0")
	cmd.Flags().StringVar(&failOn, "fail-on", failOn, "mildest verdict with an exit code other than 0: review or block")
	cmd.MarkFlagsMutuallyExclusive("json", "sarif")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		code, err := runScan(cmd, args[0], asJSON, asSARIF, failOn)
		if err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "scan:", err)
			code = scanExitError
		}
		if code != 0 {
			os.Exit(code)
		}
		return nil
	}
	return cmd
}

// runScan scans and prints; the result is the exit code of the verdict.
func runScan(cmd *cobra.Command, path string, asJSON, asSARIF bool, failOn string) (int, error) {
	if failOn != string(scanner.VerdictReview) && failOn != string(scanner.VerdictBlock) {
		return 0, errors.New("--fail-on is review or block")
	}
	bundle, err := scanner.OpenLocal(path)
	if err != nil {
		return 0, err
	}
	report, err := scanner.Scan(cmd.Context(), bundle.Bundle, nil)
	if err := errors.Join(err, bundle.Close()); err != nil {
		return 0, err
	}
	if err := printScan(cmd.OutOrStdout(), report, asJSON, asSARIF); err != nil {
		return 0, err
	}
	switch {
	case report.Verdict == scanner.VerdictBlock:
		return scanExitBlock, nil
	case report.Verdict == scanner.VerdictReview && failOn == string(scanner.VerdictReview):
		return scanExitReview, nil
	}
	return 0, nil
}

func printScan(w io.Writer, report scanner.Report, asJSON, asSARIF bool) error {
	switch {
	case asSARIF:
		return report.WriteSARIF(w)
	case asJSON:
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.WriteTable(w)
}
