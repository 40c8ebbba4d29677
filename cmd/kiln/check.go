package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/gen"
	"github.com/gokiln/kiln/compiler/target"
)

func checkCommand() *cobra.Command {
	var asJSON bool
	var names []string
	cmd := &cobra.Command{
		Use:   "check [-target list] [packages]",
		Short: "diagnose the kernels of packages (default .)",
		Long:  "Check reports every mistake in every kernel of the packages, as\nfile:line:col: code: message, followed by indented lines that say why and what to do instead. Generic kernels are checked for the types of their constraints, kernels with\ncompile-time parameters for the values 1 and false, 8 and true, or those of a\ncomment above the kernel: //kiln:const tile=16,32 cfg.Fast=true.\nWith -target it reports, too, what keeps kernels from running on such devices: more shared or\nlocal memory than they have, larger blocks, types and operations that they lack, and\nassumptions about the width of warps.\nLaunchers that kiln gen wrote are reported if they are no longer those of the kernels.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			targets, err := parseTargets(names)
			if err != nil {
				return usageError{err}
			}
			return check(cmd, args, targets, asJSON)
		},
	}
	cmd.Flags().StringSliceVar(&names, "target", nil, "targets that the kernels are for, such as ptx:sm_80,hip:gfx942,msl:3.0,cpu, or all those of nvidia, amd, apple, cpu")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array of objects with pos (file, line, col), code, msg, note and fix")
	return cmd
}

func check(cmd *cobra.Command, patterns []string, targets []target.Target, asJSON bool) error {
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
		list, n := compiler.Check(p.Package, src.load, targets...)
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
