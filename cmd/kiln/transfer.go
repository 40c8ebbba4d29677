package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/cmd/kiln/internal/oci"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/runtime"
)

// transferCommands move kernels between the cache, bundles and registries.
func transferCommands() []*cobra.Command {
	var out, kernels string
	export := &cobra.Command{
		Use: "export -o bundle", Short: "write the cache as a bundle", Args: cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, s *cache.Store) error { return cacheExport(cmd, s, out, kernels) }),
	}
	export.Flags().StringVarP(&out, "output", "o", "cache"+bundleSuffix, "the bundle to write")
	export.Flags().StringVar(&kernels, "kernel", "", "only kernels that this regular `expression` matches")
	var targets []string
	pull := &cobra.Command{
		Use: "pull [-target list] [-o bundle] reference", Short: "fetch a bundle from a registry", Args: cobra.ExactArgs(1),
		Long: "Pull fetches what this machine's devices need of a bundle, or what -target names (all for\neverything). A reference is registry/name:tag, or registry/name@sha256:… for one that is known to be\nthat. KILN_TRUST names whose signatures are wanted. Credentials are those of Docker.",
		RunE: func(cmd *cobra.Command, args []string) error { return cachePull(cmd, args[0], out, targets) },
	}
	pull.Flags().StringVarP(&out, "output", "o", "kernels"+bundleSuffix, "the file to write")
	pull.Flags().StringSliceVar(&targets, "target", nil, "targets such as ptx:sm_90, or all")
	return []*cobra.Command{
		export,
		{
			Use: "import bundle...", Short: "add what is in bundles to the cache", Args: cobra.MinimumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return withStore(func(cmd *cobra.Command, s *cache.Store) error { return cacheImport(cmd, s, args) })(cmd, args)
			},
		},
		{
			Use: "push bundle reference", Short: "store a bundle in a registry", Args: cobra.ExactArgs(2),
			Long: "Push stores a bundle under registry/name:tag, a layer for each target, and prints the digest to ask for.",
			RunE: func(cmd *cobra.Command, args []string) error { return cachePush(cmd, args[0], args[1]) },
		},
		pull,
	}
}

func cacheExport(cmd *cobra.Command, s *cache.Store, out, kernels string) error {
	wanted, err := regexp.Compile(kernels)
	if err != nil {
		return usageError{fmt.Errorf("-kernel: %w", err)}
	}
	w := bundle.Writer{Compiler: compiler.Version}
	for _, info := range s.List() {
		if !wanted.MatchString(info.Kernel) {
			continue
		}
		e, err := s.Read(info.Key) // which is no use of it
		if err != nil {
			continue // removed, or damaged, since it was listed
		}
		if err := w.Add(info.Key, e); err != nil {
			return err
		}
	}
	if w.Len() == 0 {
		return fmt.Errorf("nothing in %s to export", s.Dir())
	}
	if err := w.WriteFile(out); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d entries\n", out, w.Len())
	return nil
}

func cacheImport(cmd *cobra.Command, s *cache.Store, names []string) error {
	trust, err := bundle.ParseTrust(os.Getenv("KILN_TRUST"))
	if err != nil {
		return err
	}
	for _, name := range names {
		b, err := bundle.Open(name)
		if err != nil {
			return err
		}
		n, err := importBundle(s, b, trust)
		if err = errors.Join(err, b.Close()); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d entries into %s\n", name, n, s.Dir())
	}
	return nil
}

func importBundle(s *cache.Store, b *bundle.Bundle, trust bundle.Trust) (n int, err error) {
	if err := trust.Check(b); err != nil {
		return 0, err
	}
	items, err := b.Manifest()
	if err != nil {
		return 0, err
	}
	for _, it := range items {
		if !b.Has(it.Target) {
			continue
		}
		e, err := b.Get(it.Target, it.Key)
		if err != nil {
			return n, err
		}
		if err := s.Put(it.Key, e); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func cachePush(cmd *cobra.Command, name, reference string) error {
	b, err := bundle.Open(name)
	if err != nil {
		return err
	}
	defer b.Close()
	repo, tag, err := oci.Open(reference)
	if err != nil {
		return usageError{err}
	}
	digest, err := oci.Push(cmd.Context(), repo, tag, b)
	if err != nil {
		return fmt.Errorf("push to %s: %w", reference, err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s/%s@%s\n", repo.Reference.Registry, repo.Reference.Repository, digest)
	return err
}

func cachePull(cmd *cobra.Command, reference, out string, targets []string) error {
	trust, err := bundle.ParseTrust(os.Getenv("KILN_TRUST"))
	if err != nil {
		return err
	}
	repo, tag, err := oci.Open(reference)
	if err != nil {
		return usageError{err}
	}
	choose, err := wantedTargets(targets)
	if err != nil {
		return err
	}
	p, err := oci.Pull(cmd.Context(), repo, tag, out, choose, trust)
	if err != nil {
		return fmt.Errorf("pull of %s: %w", reference, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d bytes, for %s", out, p.Bytes, strings.Join(p.Targets, ", "))
	if len(p.Others) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "; left in the registry: %s", strings.Join(p.Others, ", "))
	}
	fmt.Fprintln(cmd.ErrOrStderr())
	if len(p.Targets) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "kiln: nothing in it is for these targets")
		return errProblems
	}
	return nil
}

// wantedTargets returns what chooses among the targets of a bundle: those named, or for each device
// of this machine the one that it runs best.
func wantedTargets(names []string) (func(have []string) []string, error) {
	if slices.Equal(names, []string{"all"}) {
		return func(have []string) []string { return have }, nil
	}
	list, err := parseTargets(names)
	if err != nil {
		return nil, usageError{err}
	}
	if len(names) > 0 {
		return func(have []string) []string {
			return slices.DeleteFunc(slices.Clone(have), func(name string) bool {
				return !slices.ContainsFunc(list, func(t target.Target) bool { return t.String() == name })
			})
		}, nil
	}
	for _, info := range runtime.Devices() {
		if t, err := compiler.TargetFor(info.Formats, info.Arch); err == nil { // kiln devices tells others
			list = append(list, t)
		}
	}
	return func(have []string) (out []string) {
		for _, t := range append(list, target.CPU) {
			machine, text := t.Takes()
			for _, t := range slices.Concat([]target.Target{t}, machine, text) {
				if slices.Contains(have, t.String()) {
					out = append(out, t.String())
					break
				}
			}
		}
		return out
	}, nil
}
