package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/gen"
)

func checkCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [packages]",
		Short: "diagnose the kernels of packages (default .)",
		Long:  "Check reports every mistake in every kernel of the packages, as\nfile:line:col: code: message, followed by indented lines that say why and what to do instead. Generic kernels are checked for the types of their constraints, kernels with\ncompile-time parameters for the values 1 and false, 8 and true, or those of a\ncomment above the kernel: //kiln:const tile=16,32 cfg.Fast=true.\nLaunchers that kiln gen wrote are reported if they are no longer those of the kernels.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			return check(cmd, args, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array of objects with pos (file, line, col), code, msg, note and fix")
	return cmd
}

func check(cmd *cobra.Command, patterns []string, asJSON bool) error {
	src, err := loadSources(patterns)
	if err != nil {
		return err
	}
	pkgs, err := src.withKernels()
	if err != nil {
		return err
	}
	all := diag.List{}
	kernels := 0
	for _, p := range pkgs {
		list, n := compiler.Check(p.Package, src.load)
		all = append(append(all, p.unregistered()...), list...)
		all = append(all, gen.Check(p.launchers(), src.load)...)
		kernels += n
	}
	out := cmd.OutOrStdout()
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(all); err != nil {
			return fmt.Errorf("writing diagnostics: %w", err)
		}
	} else {
		for _, d := range all {
			fmt.Fprintf(out, "%+v\n", d)
		}
	}
	if len(all) > 0 {
		return errProblems
	}
	if !asJSON {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s in %s, no problems\n", count(kernels, "kernel"), count(len(pkgs), "package"))
	}
	return nil
}

// count is n things, in words.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
