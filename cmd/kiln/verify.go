package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/prebuilt/prebuild"
)

func verifyCommand() *cobra.Command {
	var w wanted
	var asJSON, again bool
	cmd := &cobra.Command{
		Use:   "verify bundle [-recompile] [-target list] [-from record] [-model model] [packages]",
		Short: "say what of a program's kernels a bundle does not have",
		Long:  "Verify compares a bundle with the kernels of packages or of models, as kiln prebuild finds them, for the\ntargets of the bundle or those of -target, and names each kernel, type, target or variant that is\nnot there, or that was built of other source. With -recompile all entries of the bundle whose source is\nhere are compiled again, and code that is not the same is named. The exit status is 1 if there is something.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("which bundle?")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return verifyBundle(cmd, args[0], args[1:], w, asJSON, again)
		},
	}
	w.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	cmd.Flags().BoolVar(&again, "recompile", false, "compile what is in the bundle again and compare")
	return cmd
}

func verifyBundle(cmd *cobra.Command, name string, patterns []string, w wanted, asJSON, again bool) error {
	out, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	b, err := bundle.Open(name)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.Verify(); err != nil {
		return err
	}
	job, err := w.find(cmd, patterns)
	if err != nil {
		return err
	}
	gaps, err := job.Check(b)
	if err != nil {
		return err
	}
	if again {
		kept, err := keptIn(b)
		if err != nil {
			return err
		}
		list, err := recompile(cmd.Context(), kept, patterns, 0)
		if err != nil {
			return err
		}
		for _, v := range list {
			if v.Bad() {
				gaps = append(gaps, prebuild.Gap{Kernel: v.Kernel, Target: v.Target, Kind: prebuild.GapCode, Why: v.Why})
			}
		}
		summary(stderr, list)
	}
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(append([]prebuild.Gap{}, gaps...)); err != nil {
			return err
		}
	} else {
		for _, g := range gaps {
			where := ""
			if g.Target != "" {
				where = " for " + g.Target
			}
			fmt.Fprintf(out, "%s: %s%s: %s\n", g.Kind, g.Kernel, where, g.Why)
		}
	}
	if len(gaps) > 0 {
		return errProblems
	}
	fmt.Fprintf(stderr, "%s has all of %s\n", name, count(len(job.Specs), "kernel"))
	return nil
}
