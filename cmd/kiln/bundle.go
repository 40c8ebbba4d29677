package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gokiln/kiln/cache/bundle"
)

func bundleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "look into bundles, sign them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return usageError{errors.New("which command of bundle?")}
		},
	}
	var key string
	sign := &cobra.Command{
		Use: "sign -key file bundle", Short: "add a signature; KILN_TRUST names whose signatures a program wants", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			secret, err := readSecret(key)
			if err != nil {
				return err
			}
			return bundle.Rewrite(args[0], func(string) bool { return true }, secret)
		},
	}
	sign.Flags().StringVar(&key, "key", "", "`file` with the secret key")
	_ = sign.MarkFlagRequired("key")
	cmd.AddCommand(sign,
		&cobra.Command{
			Use: "key file", Short: "make a key to sign with: write the secret to a file, print the public one", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return newKey(cmd, args[0]) },
		},
		&cobra.Command{
			Use: "ls bundle", Short: "print what is in a bundle, and check it", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return bundleList(cmd, args[0]) },
		})
	return cmd
}

// newKey makes a key. Its file is nobody else's to read, and none is written over.
func newKey(cmd *cobra.Command, name string) error {
	secret, public, err := bundle.NewKey()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	_, err = fmt.Fprintln(f, secret)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), public)
	return err
}

func readSecret(name string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	key, err := bundle.ParseSecret(string(text))
	if err != nil {
		return nil, fmt.Errorf("secret key %s: %w", name, err)
	}
	return key, nil
}

func bundleList(cmd *cobra.Command, name string) error {
	b, err := bundle.Open(name)
	if err != nil {
		return err
	}
	defer b.Close()
	items, err := b.Manifest()
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if err := sizes(w, items); err != nil {
		return err
	}
	h := b.Header()
	fmt.Fprintf(w, "\ndigest %s, compiler %s, signed by: %s\n", b.Digest(), h.Compiler, orNobody(b.Signers()))
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "TARGET\tENTRIES\tBYTES")
	for _, s := range h.Sections {
		note := ""
		if !b.Has(s.Target) {
			note = "\tnot in this copy"
		}
		target := s.Target
		if target == bundle.Common {
			target = "(sources)"
		}
		fmt.Fprintf(table, "%s\t%d\t%d%s\n", target, s.Entries, s.Size, note)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return b.Verify()
}

func orNobody(s string) string {
	if s == "" {
		return "nobody"
	}
	return s
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
