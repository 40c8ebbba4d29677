package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/packages"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/gen"
)

func genCommand() *cobra.Command {
	var checkOnly bool
	var tags string
	cmd := &cobra.Command{
		Use:   "gen [-check] [packages]",
		Short: "write typed launchers for the kernels of packages (default .)",
		Long: "Gen writes " + gen.Main + " next to the kernels: for a kernel Axpy the functions LaunchAxpy,\n" +
			"PrepareAxpy and KernelAxpy, with the kernel's type parameters and documentation. The line\n\n" +
			"\t//go:generate go tool kiln gen\n\n" +
			"has go generate run it. What it writes depends on signatures and comments only, and stays as it\n" +
			"is while these do; kiln check and kiln-vet say when it is stale.",
		Example: "  kiln gen ./...\n  kiln gen -check ./...   # in CI",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			var flags []string
			if tags != "" {
				flags = append(flags, "-tags="+tags)
			}
			src, err := loadSources(args, flags...)
			if err != nil {
				return err
			}
			return generateLaunchers(cmd.OutOrStdout(), cmd.ErrOrStderr(), src, checkOnly)
		},
	}
	cmd.Flags().BoolVar(&checkOnly, "check", false, "write nothing; list the files that are not as they would be written, with status 1")
	cmd.Flags().StringVar(&tags, "tags", "", "build `tags`, as for the go command")
	return cmd
}

// launchers is the package as launchers are written for it.
func (p *source) launchers() gen.Package { return gen.Package{Package: p.Package, All: p.all} }

// generateLaunchers writes the launchers of all packages asked for, or compares them.
func generateLaunchers(out, log io.Writer, src *sources, checkOnly bool) error {
	pkgs, err := src.withKernels()
	if err != nil {
		return err
	}
	problems := false
	for _, p := range pkgs {
		below, err := belowJIT(p.Path)
		if err != nil {
			return err
		}
		if below {
			return fmt.Errorf("%s cannot have launchers: they would import package jit, which imports it", p.Path)
		}
		list := p.unregistered()
		files, more := gen.Generate(p.launchers(), src.load)
		if list = append(list, more...); len(list) > 0 {
			problems = true
			printDiagnostics(out, list)
			continue
		}
		changed, err := p.update(files, checkOnly)
		if err != nil {
			return err
		}
		for _, line := range changed {
			if checkOnly {
				problems = true
				fmt.Fprintf(out, "%s; run kiln gen %s\n", line, pathArg(p.DisplayDir))
			} else {
				fmt.Fprintf(log, "kiln: %s\n", line)
			}
		}
	}
	if problems {
		return errProblems
	}
	return nil
}

// belowJIT reports whether package jit imports a package, directly or not. Only packages of
// this module can be among them.
func belowJIT(path string) (bool, error) {
	const module = "github.com/gokiln/kiln/"
	if !strings.HasPrefix(path, module) {
		return false, nil
	}
	list, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps}, module+"jit")
	if err != nil {
		return false, fmt.Errorf("listing packages: %w", err)
	}
	below := false
	packages.Visit(list, func(p *packages.Package) bool { below = below || p.PkgPath == path; return true }, nil)
	return below, nil
}

// pathArg is a folder as the go command wants it.
func pathArg(dir string) string {
	if dir == "." || filepath.IsAbs(dir) || strings.HasPrefix(dir, "..") {
		return dir
	}
	return "./" + filepath.ToSlash(dir)
}

func printDiagnostics(w io.Writer, list diag.List) {
	for _, d := range list.Sorted() {
		fmt.Fprintf(w, "%+v\n", d)
	}
}

// update makes the generated files of a package those given, and says what that changes.
func (p *source) update(files []front.File, checkOnly bool) (changed []string, err error) {
	for _, f := range files {
		name := filepath.Join(p.dir, f.Name)
		shown := filepath.Join(p.DisplayDir, f.Name)
		old, err := os.ReadFile(name)
		switch {
		case err == nil && bytes.Equal(bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), f.Text):
			continue
		case err != nil && !os.IsNotExist(err):
			return nil, fmt.Errorf("reading launchers: %w", err)
		case err != nil:
			changed = append(changed, shown+" is new")
		default:
			changed = append(changed, shown+" is stale")
		}
		if checkOnly {
			continue
		}
		changed[len(changed)-1] = "wrote " + shown
		if err := os.WriteFile(name, f.Text, 0o666); err != nil {
			return nil, fmt.Errorf("writing launchers: %w", err)
		}
	}
	old, err := p.leftOver(files)
	if err != nil {
		return nil, err
	}
	for _, name := range old {
		shown := filepath.Join(p.DisplayDir, name)
		if checkOnly {
			changed = append(changed, shown+" has no kernels")
			continue
		}
		changed = append(changed, "removed "+shown)
		if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
			return nil, fmt.Errorf("removing launchers: %w", err)
		}
	}
	return changed, nil
}

// leftOver returns the generated files of kernels that are gone. Those of files that are
// not part of this build stay.
func (p *source) leftOver(files []front.File) (names []string, err error) {
	all, err := filepath.Glob(filepath.Join(p.dir, "zz_kernels*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range all {
		name := filepath.Base(path)
		if slices.ContainsFunc(files, func(f front.File) bool { return f.Name == name }) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading launchers: %w", err)
		}
		if !bytes.HasPrefix(text, []byte(gen.Header)) {
			continue // not ours
		}
		from := strings.TrimPrefix(name, "zz_kernels_")
		inBuild := slices.ContainsFunc(p.all, func(f front.File) bool { return f.Name == from })
		if _, err := os.Stat(filepath.Join(p.dir, from)); name == gen.Main || inBuild || os.IsNotExist(err) {
			names = append(names, name)
		}
	}
	return names, nil
}
