package jit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/jit/artifact"
	"github.com/gokiln/kiln/jit/record"
)

// embedded are the bundles that are part of the program.
var embedded struct {
	sync.Mutex
	list []*bundle.Bundle
	bad  []error
}

// Register makes the kernels of a bundle known that is part of the program. Generated
// code calls it when the program starts; the name is for messages. Bundles that are
// registered after the first kernel was resolved are not looked into.
func Register(name, data string) {
	b, err := bundle.Parse(name, data)
	embedded.Lock()
	defer embedded.Unlock()
	if err != nil {
		embedded.bad = append(embedded.bad, err)
		return
	}
	embedded.list = append(embedded.list, b)
}

// openBundles opens the bundles that kernels are looked for in, in order: those that are
// part of the program, those of KILN_BUNDLES, and the one beside the program. What
// cannot be used is an error beside the rest.
func openBundles(getenv func(string) string) ([]*bundle.Bundle, error) {
	trust, err := bundle.ParseTrust(getenv("KILN_TRUST"))
	if err != nil {
		return nil, err
	}
	embedded.Lock()
	list, errs := slices.Clone(embedded.list), slices.Clone(embedded.bad)
	embedded.Unlock()
	for _, b := range list {
		errs = append(errs, sameCompiler(b))
	}
	files, err := bundleFiles(getenv("KILN_BUNDLES"))
	errs = append(errs, err)
	for _, name := range files {
		b, err := openBundle(name, trust)
		if errs = append(errs, err); err == nil {
			list = append(list, b)
		}
	}
	return list, errors.Join(errs...)
}

// openBundle opens the bundle in a file that nobody else can have changed.
func openBundle(name string, trust bundle.Trust) (*bundle.Bundle, error) {
	b, err := bundle.Open(name)
	if err != nil {
		return nil, err
	}
	if err = trust.Check(b); err == nil && len(trust) == 0 {
		err = cache.CheckFile(name)
	}
	if err = errors.Join(err, sameCompiler(b)); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// sameCompiler reports whether kernels in the bundle can have the keys of this program's.
func sameCompiler(b *bundle.Bundle) error {
	if v := b.Header().Compiler; v != code.Version {
		return fmt.Errorf("bundle %s: made by version %s of the compiler, this program has %s: build it again with kiln prebuild", b.Name(), v, code.Version)
	}
	return nil
}

// BundleSuffix is how the names of bundles end.
const BundleSuffix = ".kiln"

// bundleFiles lists the files that a list of files and directories means, and the one that
// has the name of the program.
func bundleFiles(list string) (names []string, err error) {
	for _, name := range filepath.SplitList(list) {
		info, e := os.Stat(name)
		switch {
		case e != nil:
			err = errors.Join(err, fmt.Errorf("KILN_BUNDLES: %w", e))
		case info.IsDir():
			found, _ := filepath.Glob(filepath.Join(name, "*"+BundleSuffix)) // sorted
			names = append(names, found...)
		default:
			names = append(names, name)
		}
	}
	if exe, e := os.Executable(); e == nil {
		beside := strings.TrimSuffix(exe, ".exe") + BundleSuffix
		if _, e := os.Stat(beside); !errors.Is(e, fs.ErrNotExist) {
			names = append(names, beside)
		}
	}
	return names, err
}

// shipped looks for an entry in the bundles.
func (s *settings) shipped(target string, key cache.Key) (*cache.Entry, string) {
	for _, b := range s.bundles {
		e, err := b.Get(target, key)
		if err == nil {
			return e, b.Name()
		}
		if !errors.Is(err, bundle.ErrMissing) {
			if _, told := s.told.LoadOrStore(b.Name(), true); !told {
				s.log.Warn("bundle damaged, what is in it is made otherwise", "err", err)
			}
		}
	}
	return nil, ""
}

// candidate is code that would do, if it is somewhere.
type candidate struct {
	tgt   target.Target
	kind  string // of the entry
	by    string // what made it, of machine code
	local bool   // may be in the cache, which has what was made for this device
	key   cache.Key
}

// candidates yields the code that runs on the device, the best first: machine code for it,
// machine code for its family, and what its driver compiles. Most kernels are found as the
// first or second.
func (r *resolver) candidates(yield func(candidate) bool) {
	final, shipped := r.dev.FinalKey(), len(r.bundles) > 0
	if final != "" {
		if shipped && !r.noMachine && !yield(candidate{tgt: r.tgt, kind: cache.KindMachine, by: artifact.Assembled}) ||
			!yield(candidate{tgt: r.tgt, kind: cache.KindMachine, by: final, local: true}) {
			return
		}
	}
	machine, text := r.tgt.Takes()
	if final != "" && shipped && !r.noMachine {
		for _, t := range machine {
			if !yield(candidate{tgt: t, kind: cache.KindMachine, by: artifact.Assembled}) {
				return
			}
		}
	}
	if !yield(candidate{tgt: r.tgt, kind: cache.KindArtifact, local: true}) || !shipped {
		return
	}
	for _, t := range text {
		// What came of such text may be in the cache.
		if final != "" && !yield(candidate{tgt: t, kind: cache.KindMachine, by: final, local: true}) ||
			!yield(candidate{tgt: t, kind: cache.KindArtifact}) {
			return
		}
	}
}

// prebuilt returns the best code there is and what it is, nil if there is none.
func (r *resolver) prebuilt(hash string) (*image, *candidate) {
	for c := range r.candidates {
		if c.key = artifact.CodeKey(hash, c.tgt, r.opts()); c.kind == cache.KindMachine {
			c.key = artifact.MachineKey(c.key, c.by)
		}
		e, from := r.shipped(c.tgt.String(), c.key)
		r.ev.Source = "bundle"
		if e == nil && c.local {
			e, from = r.get(c.key), "cache"
			r.ev.Source = "cache"
		}
		if e == nil {
			r.debug("not there", "kernel", r.name, "kind", c.kind, "target", c.tgt, "build", r.opts().Build(), "key", c.key)
			continue
		}
		a, err := artifact.Read(e, c.kind)
		if err != nil {
			r.debug("entry unreadable", "kernel", r.name, "key", c.key, "err", err)
			continue
		}
		if r.options.Strict && a.Interpreted != "" {
			continue // was kept by a run that was not strict
		}
		if r.debugs() {
			r.debug("chosen", "kernel", r.name, "kind", c.kind, "target", c.tgt, "build", r.opts().Build(), "from", from, "tool", e.Tool)
		}
		return r.image(a), &c
	}
	return nil, nil
}

// missing is the error for a kernel that is nowhere, with what was looked into and what
// would build it.
func (r *resolver) missing() error {
	spec := record.Of(r.req)
	spec.Builds = []string{r.opts().Build()}
	var b strings.Builder
	if !compiles {
		b.WriteString(", and this program was built with -tags kiln_nojit, without the compiler")
	}
	b.WriteString("; looked into")
	for _, shipped := range r.bundles {
		fmt.Fprintf(&b, "\n\tbundle %s: %s", shipped.Name(), r.why(shipped))
	}
	switch {
	case r.mode == Off:
		b.WriteString("\n\tnothing: KILN_JIT=off ignores bundles and the cache")
	case len(r.bundles) == 0:
		b.WriteString("\n\tno bundle is part of the program, beside it, or in KILN_BUNDLES")
	}
	if r.broken != nil {
		fmt.Fprintf(&b, "\n\tnot usable: %v", r.broken)
	}
	if r.store != nil {
		fmt.Fprintf(&b, "\n\tcache %s: not there", r.store.Dir())
	}
	return fmt.Errorf("%w: %s for %s%s\nto build it: kiln prebuild -target %s -spec '%s' -o NAME%s%s", ErrNotPrebuilt, r.name, r.tgt, b.String(), r.tgt, spec, BundleSuffix, programOf(r.req))
}

// programOf returns the argument for a kernel of the program's own package, or with a function
// of it: they are of a package main, and which one that is has to be said.
func programOf(req input.Request) string {
	own := req.Pkg == "main"
	for _, f := range req.Funcs {
		own = own || f.Pkg == "main"
	}
	if !own {
		return ""
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" && info.Path != "command-line-arguments" {
		return " " + info.Path
	}
	return " ." // from the folder of the program
}

// why says why a bundle does not have the kernel.
func (r *resolver) why(b *bundle.Bundle) string {
	items, err := b.Manifest()
	if err != nil {
		return err.Error()
	}
	var other, same []string
	for _, it := range items {
		if artifact.KernelOf(it.Kernel) != r.req.Pkg+"."+r.req.Func || it.Target == bundle.Common {
			continue
		}
		if it.Target == r.tgt.String() {
			same = append(same, it.Kernel+suffix(it.Build))
		} else {
			other = append(other, it.Target)
		}
	}
	switch {
	case len(same) > 0:
		return "has " + few(same) + " for this target: other types, compile-time values or variants, or it was built of other source"
	case len(other) > 0:
		return "has this kernel for " + few(other) + " only"
	}
	return "does not have this kernel"
}

func suffix(build string) string {
	if build == "" {
		return ""
	}
	return " (" + build + ")"
}

// few lists a handful.
func few(list []string) string {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) > 4 {
		return strings.Join(list[:4], ", ") + fmt.Sprintf(" and %d more", len(list)-4)
	}
	return strings.Join(list, ", ")
}
