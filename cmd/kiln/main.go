package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/cmd/kiln/internal/tensorfile"
)

// errProblems ends the command with status 1 after it has reported problems
// itself.
var errProblems = errors.New("problems found")

// usageError ends the command with status 2.
type usageError struct{ error }

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	root := newRoot()
	root.SetArgs(longFlags(args))
	err := root.Execute()
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errProblems):
		return 1
	case errors.As(err, &usage), errors.Is(err, tensorfile.ErrFormat),
		strings.HasPrefix(err.Error(), "unknown "),
		strings.HasPrefix(err.Error(), "flag "), strings.HasPrefix(err.Error(), "required flag"):
		fmt.Fprintf(os.Stderr, "kiln: %v\nrun 'kiln help' for usage\n", err)
		return 2
	}
	fmt.Fprintf(os.Stderr, "kiln: %v\n", err)
	return 1
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "kiln",
		Short:         "GPU kernels written in Go",
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			_ = cmd.Help()
			return usageError{errors.New("which command?")}
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(checkCommand(), genCommand(), emitCommand(), devicesCommand(), cacheCommand(),
		prebuildCommand(), verifyCommand(), bundleCommand(), tensorsCommand(), runCommand(), embedCommand(), tokenizeCommand(),
		pullCommand(), benchCommand(), serveCommand())
	return root
}

// longFlags turns the go command's -name into the --name that the flag library
// reads.
func longFlags(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if len(a) > 2 && a[0] == '-' && a[1] != '-' {
			a = "-" + a
		}
		out[i] = a
	}
	return out
}
