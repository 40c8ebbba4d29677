package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/packages"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/jit/record"
	"github.com/gokiln/kiln/prebuilt/prebuild"
)

func cacheVerifyCommand() *cobra.Command {
	var asJSON, digests bool
	var jobs int
	cmd := &cobra.Command{
		Use:   "verify [-digests] [packages]",
		Short: "check every entry, compile it again and compare",
		Long: "Verify reads every entry and names the damaged ones, whose digest is not that of what they hold. It\ncompiles again what the cache says it was made of, and names entries that are not the same. The source is that of\nthe packages, as the go command finds them from the current directory; kernels of a program, a package main, are\nthose of the packages named, or of the one in the current directory.\n" +
			"What cannot be compiled here is counted with the reason: its source is not here or has changed, another\nversion of the compiler made it, or a driver did. Of these only the digest is checked. The exit status is 1 if an entry is damaged or\ndiffers.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(func(cmd *cobra.Command, s *cache.Store) error {
				return cacheVerify(cmd, s, args, jobs, digests, asJSON)
			})(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array with an object for each entry")
	cmd.Flags().BoolVar(&digests, "digests", false, "check digests only, compile nothing")
	cmd.Flags().IntVarP(&jobs, "jobs", "j", 0, "how many kernels to compile at the same time; default: the number of cores")
	return cmd
}

func cacheVerify(cmd *cobra.Command, s *cache.Store, patterns []string, jobs int, digests, asJSON bool) error {
	stderr := cmd.ErrOrStderr()
	list := []prebuild.Verdict{}
	damaged := map[string]bool{}
	for _, p := range s.Verify() {
		v := prebuild.Verdict{Path: p.Path, Result: prebuild.Damaged, Why: p.Err.Error()}
		damaged[filepath.Base(p.Path)] = true
		list = append(list, v)
	}
	var kept []prebuild.Kept
	for _, info := range s.List() {
		if !damaged[info.Key.String()] {
			kept = append(kept, prebuild.Kept{Key: info.Key, Header: info.Header, Read: func() (*cache.Entry, error) { return s.Read(info.Key) }})
		}
	}
	if !digests {
		compared, err := recompile(cmd.Context(), kept, patterns, jobs)
		if err != nil {
			return err
		}
		list = append(list, compared...)
	}
	if err := printVerdicts(cmd.OutOrStdout(), list, asJSON); err != nil {
		return err
	}
	if !digests {
		summary(stderr, list)
	}
	if slices.ContainsFunc(list, func(v prebuild.Verdict) bool { return v.Bad() }) {
		return errProblems
	}
	fmt.Fprintf(stderr, "no damage found in %s\n", entries(len(kept)))
	return nil
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// printVerdicts prints all as JSON, or what is wrong as lines.
func printVerdicts(out io.Writer, list []prebuild.Verdict, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	for _, v := range list {
		if !v.Bad() {
			continue
		}
		what := v.Path
		if v.Key != nil {
			what = fmt.Sprintf("%s of %s", v.Kind, v.Kernel)
			if v.Target != "" {
				what += " for " + v.Target
			}
			if v.Build != "" {
				what += " (" + v.Build + ")"
			}
			what += fmt.Sprintf(", key %.12s", v.Key)
		}
		if _, err := fmt.Fprintf(out, "%s: %s: %s\n", v.Result, what, v.Why); err != nil {
			return err
		}
	}
	return nil
}

// summary counts what is the same, and what was not compared by its reason.
func summary(stderr io.Writer, list []prebuild.Verdict) {
	same, reasons := 0, map[string]int{}
	for _, v := range list {
		switch v.Result {
		case prebuild.Same:
			same++
		case prebuild.Uncompared:
			reasons[v.Why]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(stderr, "%s not compiled again, only the digest checked: %s\n", entries(reasons[why]), why)
	}
	fmt.Fprintf(stderr, "%s compiled again, with the same result\n", entries(same))
}

// keptIn lists the entries that this copy of a bundle has.
func keptIn(b *bundle.Bundle) (kept []prebuild.Kept, err error) {
	items, err := b.Manifest()
	for _, it := range items {
		if b.Has(it.Target) {
			kept = append(kept, prebuild.Kept{Key: it.Key, Header: it.Header, Read: func() (*cache.Entry, error) { return b.Get(it.Target, it.Key) }})
		}
	}
	return kept, err
}

// recompile compiles entries again, of the source that the go command finds.
func recompile(ctx context.Context, kept []prebuild.Kept, patterns []string, jobs int) ([]prebuild.Verdict, error) {
	job := &prebuild.Job{Workers: jobs}
	var err error
	if job.Load, err = loadKept(prebuild.Specs(kept), patterns); err != nil {
		return nil, err
	}
	var targets []target.Target
	for _, k := range kept {
		if t, err := target.Parse(k.Target); err == nil && k.Kind == cache.KindMachine && !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	job.Tools, _ = prebuild.Assemblers(targets) // verdicts name the tools that are not here
	return job.Compare(ctx, kept)
}

// loadKept returns a loader for the packages that specialisations are of. A package that the go
// command does not find is an error of the loader, not of the whole: a cache has kernels of several
// programs. The kernels of a package main are those of patterns.
func loadKept(specs []record.Spec, patterns []string) (front.Loader, error) {
	wanted := packagesOf(specs)
	asked := patterns
	if len(asked) == 0 {
		asked = []string{"."}
	}
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedEmbedFiles | packages.NeedImports | packages.NeedDeps,
		Env:  append(os.Environ(), "GOPROXY=off"), // looking into a cache fetches nothing
	}, append(slices.Clone(asked), wanted...)...)
	if err != nil && len(patterns) > 0 {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	if err != nil { // no Go here, or no module
		err = fmt.Errorf("listing packages: %s", strings.Join(strings.Fields(err.Error()), " "))
		return func(string) (*front.Package, error) { return nil, err }, nil
	}
	failed := map[string]error{}
	s := &sources{all: map[string]*packages.Package{}, seen: map[string]*source{}}
	for _, p := range list {
		i := slices.IndexFunc(p.Errors, func(e packages.Error) bool { return e.Kind == packages.ListError })
		switch {
		case i < 0:
			s.roots = append(s.roots, p.PkgPath)
		case len(patterns) > 0 && !slices.Contains(wanted, p.PkgPath):
			return nil, usageError{fmt.Errorf("listing packages: %s", p.Errors[i].Msg)}
		default:
			failed[p.PkgPath] = errors.New(strings.Join(strings.Fields(p.Errors[i].Msg), " "))
		}
	}
	packages.Visit(list, func(p *packages.Package) bool { s.all[p.PkgPath] = p; return true }, nil)
	if err := s.findProgram(); err != nil {
		failed[programPath] = err
	}
	return func(path string) (*front.Package, error) {
		if err := failed[path]; err != nil {
			return nil, err
		}
		return s.registeredSource(path)
	}, nil
}

// findProgram finds the one program among the packages that has kernels.
func (s *sources) findProgram() error {
	for _, path := range s.roots {
		p, err := s.read(path)
		if err != nil {
			return err
		}
		if !p.kernels || s.all[path].Name != programPath {
			continue
		}
		if s.program != "" {
			first := s.program
			s.program = ""
			return fmt.Errorf("both %s and %s are programs with kernels of their own: name one of them", first, path)
		}
		s.program = path
	}
	return nil
}
