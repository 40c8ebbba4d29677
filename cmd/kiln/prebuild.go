package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/jit/record"
	"github.com/gokiln/kiln/prebuilt/prebuild"
)

// wanted says what to build, or what has to be there.
type wanted struct {
	targets []string
	records []string
	specs   []string
	models  []string
	modelUse
	recorded bool
}

// modelUse is how a model is used that kernels are built for.
type modelUse struct {
	dtype        string
	batch, chunk int
	units        []int
}

func (w *wanted) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVar(&w.targets, "target", nil, "targets such as ptx:sm_90,hip:gfx942,cpu:x86-64-v3, or all those of nvidia, amd, apple, cpu;\nwithout it, those that a record names")
	fl.StringArrayVar(&w.records, "from", nil, "`file` that a run with KILN_RECORD wrote; may be given several times")
	fl.StringArrayVar(&w.specs, "spec", nil, "one specialisation, as a `line` of such a file")
	fl.StringArrayVar(&w.models, "model", nil, "all that kiln run and kiln serve use for this `model` on devices of the targets, which need not\nbe there; may be given several times")
	fl.StringVar(&w.dtype, "dtype", "auto", "of the model: as of kiln serve, the `type` of weights that are not quantized")
	fl.IntVar(&w.batch, "batch", defaultSequences, "of the model: as of kiln serve, so many answers that grow together")
	fl.IntVar(&w.chunk, "chunk", defaultChunk, "of the model: as of kiln serve, so many tokens of prompts in a step")
	fl.IntSliceVar(&w.units, "units", nil, "of the model: `numbers` of cores or multiprocessors that devices have;\nwithout it, those of usual ones")
	fl.BoolVar(&w.recorded, "recorded", false, "of each kernel only the variants that the record has, and not also the one that takes every launch")
}

type prebuildFlags struct {
	wanted
	out, embed, key string
	workers         int
	sizes, strict   bool
	text            bool
}

func prebuildCommand() *cobra.Command {
	var f prebuildFlags
	cmd := &cobra.Command{
		Use:   "prebuild [-target list] [-from record] [-model model] [-o bundle] [packages]",
		Short: "compile kernels ahead, for deployment",
		Long: "Prebuild compiles kernels for devices that need not be there and writes them to one file,\na bundle. A program finds it beside itself (app.kiln beside app), in KILN_BUNDLES, or in itself\n(-embed). The kernels are those of the packages that have no parameters to choose, the instances\nthat comments //kiln:instances or the code of the packages name, and those that a run with KILN_RECORD=file recorded (-from).\n" +
			"For language models (-model) neither a record nor Go is needed.\n" +
			"Where ptxas (KILN_PTXAS), a clang for AMD (KILN_CLANG) or Apple's metal (KILN_METAL) is installed\nmachine code is built too; without them the driver of the device compiles the text when it loads it.",
		Example: "  KILN_RECORD=kernels.txt ./app && kiln prebuild -from kernels.txt -target nvidia,amd -o app.kiln\n" +
			"  kiln prebuild -target ptx:sm_90,cpu:x86-64-v3 -embed . ./kernels\n" +
			"  kiln prebuild -model llama.Q4_K_M.gguf -target nvidia,cpu -o llama.kiln",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return prebuildRun(ctx, cmd, args, f)
		},
	}
	f.flags(cmd)
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "output", "o", "kernels"+bundleSuffix, "the bundle to write")
	fl.StringVar(&f.embed, "embed", "", "write the bundle into this `directory` of a package instead, a file for each vendor, and\nzz_prebuilt_*.go which make it part of the program")
	fl.StringVar(&f.key, "sign", "", "`file` with the secret key to sign the bundle with, see kiln bundle key")
	fl.IntVarP(&f.workers, "jobs", "j", 0, "how many kernels to compile at the same time; default: the number of cores")
	fl.BoolVar(&f.sizes, "size", false, "print the size of each kernel for each target")
	fl.BoolVar(&f.text, "text", false, "run no assembler: text for drivers is all there is, whatever tools are installed")
	fl.BoolVar(&f.strict, "strict", false, "write nothing if a kernel cannot be compiled for one of the targets")
	return cmd
}

func prebuildRun(ctx context.Context, cmd *cobra.Command, patterns []string, f prebuildFlags) error {
	w, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	job, err := f.job(cmd, patterns)
	if err != nil {
		return err
	}
	var sign []ed25519.PrivateKey
	if f.key != "" {
		key, err := readSecret(f.key)
		if err != nil {
			return err
		}
		sign = append(sign, key)
	}
	job.Workers = f.workers
	targets, err := job.Wants()
	if err != nil {
		return err
	}
	var absent []error
	if !f.text {
		job.Tools, absent = prebuild.Assemblers(targets)
	}
	for _, err := range absent {
		fmt.Fprintf(stderr, "kiln: %v\n", err)
	}
	stop := progress(stderr, job)
	built, err := job.Run(ctx)
	stop()
	if built == nil {
		return err
	}
	for _, note := range job.Notes {
		fmt.Fprintf(stderr, "kiln: %s\n", note)
	}
	refused := err
	if refused != nil {
		fmt.Fprintf(stderr, "%v\n", refused)
		if f.strict || built.Len() == 0 {
			return errProblems
		}
	}
	built.Sign = sign
	if err := f.write(stderr, built); err != nil {
		return err
	}
	if f.sizes {
		if err := sizes(w, built.Items()); err != nil {
			return err
		}
	}
	if refused != nil {
		fmt.Fprintln(stderr, "kiln: the bundle was written without the kernels above")
		return errProblems
	}
	return nil
}

// write writes the bundle, or a part for each vendor.
func (f *prebuildFlags) write(stderr io.Writer, built *bundle.Writer) error {
	if f.embed != "" {
		return embedBundle(stderr, built, f.embed)
	}
	if err := built.WriteFile(f.out); err != nil {
		return err
	}
	info, err := os.Stat(f.out)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%s: %d entries, %d bytes\n", f.out, built.Len(), info.Size())
	return nil
}

// job finds out what is to be built, and for what.
func (w *wanted) job(cmd *cobra.Command, patterns []string) (*prebuild.Job, error) {
	job, err := w.find(cmd, patterns)
	if err != nil {
		return nil, err
	}
	for _, s := range job.Specs {
		if len(job.Targets) == 0 && len(s.Targets) == 0 {
			return nil, usageError{fmt.Errorf("-target is missing: for which devices is %s to be built?", s.Kernel)}
		}
	}
	return job, nil
}

// find finds out what is wanted.
func (w *wanted) find(cmd *cobra.Command, patterns []string) (*prebuild.Job, error) {
	targets, err := parseTargets(w.targets)
	if err != nil {
		return nil, usageError{err}
	}
	var set record.Set
	if len(w.models) > 0 {
		if len(patterns)+len(w.records)+len(w.specs) > 0 {
			return nil, usageError{errors.New("-model: its kernels have a bundle of their own, without packages, -from and -spec")}
		}
		if err := w.rehearse(cmd, targets, &set); err != nil {
			return nil, err
		}
		return &prebuild.Job{Load: compiler.Registered, Specs: set.Specs(), Recorded: w.recorded}, nil
	}
	for _, name := range w.records {
		if err := readRecord(&set, name); err != nil {
			return nil, fmt.Errorf("-from: %w", err)
		}
	}
	for _, text := range w.specs {
		s, err := record.Parse([]byte(text))
		if err != nil {
			return nil, usageError{fmt.Errorf("-spec: %w", err)}
		}
		set.Add(s)
	}
	recorded := set.Specs()
	if len(patterns) == 0 && len(recorded) == 0 {
		patterns = []string{"."}
	}
	src, err := loadSources(append(slices.Clone(patterns), packagesOf(recorded)...))
	if err != nil {
		return nil, err
	}
	if len(patterns) > 0 {
		if err := src.addInstances(&set, patterns); err != nil {
			return nil, err
		}
	}
	job := &prebuild.Job{Load: src.registeredSource, Specs: set.Specs(), Choices: set.Choices(), Targets: targets, Recorded: w.recorded}
	if len(job.Specs) == 0 {
		return nil, fmt.Errorf("no kernel to build in %s: kernels with types or values to choose need a comment //kiln:instances, or a record of a run (KILN_RECORD, -from)", strings.Join(patterns, " "))
	}
	return job, nil
}

// packagesOf lists the packages that specialisations refer to.
func packagesOf(specs []record.Spec) []string {
	var list []string
	for _, s := range specs {
		req, err := s.Request()
		if err != nil {
			continue // was parsed
		}
		list = append(list, req.Pkg)
		list = append(list, input.Packages(req.Sig)...)
		for _, f := range req.Funcs {
			list = append(append(list, f.Pkg), input.Packages(f.Sig)...)
		}
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(p string) bool { return p == dslPath || p == programPath })
}

const (
	dslPath      = "github.com/gokiln/kiln/dsl"
	programPath  = "main" // what a program calls its own package
	bundleSuffix = ".kiln"
)

// addInstances adds what the packages that patterns mean say about themselves.
func (s *sources) addInstances(set *record.Set, patterns []string) error {
	asked, err := s.typed(patterns)
	if err != nil {
		return err
	}
	for _, listed := range asked {
		path := listed.PkgPath
		p, err := s.read(path)
		if err != nil {
			return err
		}
		if !p.kernels {
			continue
		}
		if list := p.unregistered(); len(list) > 0 {
			return list.Err()
		}
		own := *p.Package
		if listed.Name == programPath {
			if s.program != "" {
				return usageError{fmt.Errorf("both %s and %s are programs with kernels of their own: build for one at a time", s.program, path)}
			}
			s.program, own.Path = path, programPath
		}
		reqs, err := front.Instances(&own, s.load)
		if err != nil {
			return err
		}
		for _, req := range reqs {
			set.Add(record.Of(req))
		}
	}
	return s.addSites(set, asked)
}

// registeredSource is load, with source as a program has it that brings it along: positions
// name packages, not directories of this machine.
func (s *sources) registeredSource(path string) (*front.Package, error) {
	from := path
	if path == programPath {
		if from = s.program; from == "" {
			return nil, errors.New("a kernel of a package main: name the package of the program")
		}
	}
	p, err := s.load(from)
	if err != nil || p == nil {
		return p, err
	}
	out := *p
	out.Path = path
	out.DisplayDir = ""
	return &out, nil
}

// groups are names for the targets that a vendor's devices in use need. NVIDIA's later
// ones run what is for earlier ones of the same major number.
var groups = map[string][]string{
	"nvidia": {"ptx:sm_70", "ptx:sm_75", "ptx:sm_80", "ptx:sm_89", "ptx:sm_90", "ptx:sm_100", "ptx:sm_120"},
	"amd":    {"hip:gfx90a", "hip:gfx942", "hip:gfx1030", "hip:gfx1100", "hip:gfx1201"},
	"apple":  {"msl:3.0"},
	"cpu":    {"cpu", "cpu:x86-64-v3", "cpu:x86-64-v4"},
}

func parseTargets(names []string) (list []target.Target, err error) {
	for _, name := range names {
		for _, name := range append(groups[name], name)[:max(1, len(groups[name]))] {
			t, err := target.Parse(name)
			if err != nil {
				return nil, fmt.Errorf("-target: %w; or one of nvidia, amd, apple, cpu", err)
			}
			if !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	return list, nil
}

// progress shows on a terminal how far a job is.
func progress(stderr io.Writer, job *prebuild.Job) (stop func()) {
	if f, ok := stderr.(*os.File); !ok || !isTerminal(f) {
		return func() {}
	}
	var what string
	p := mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(40))
	bar := p.AddBar(0,
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d ")),
		mpb.AppendDecorators(decor.AverageETA(decor.ET_STYLE_GO), decor.Any(func(decor.Statistics) string { return "  " + what })),
		mpb.BarRemoveOnComplete())
	job.Progress = func(done, all int, name string) {
		what = name
		bar.SetTotal(int64(all), false)
		bar.SetCurrent(int64(done))
	}
	return func() {
		bar.Abort(true)
		p.Wait()
	}
}

// sizes prints how large each kernel is for each target.
func sizes(w io.Writer, items []bundle.Item) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "KERNEL\tTARGET\tBUILD\tFORMAT\tBYTES")
	totals := map[string]int{}
	for _, it := range items {
		if it.Target == bundle.Common {
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\n", it.Kernel, it.Target, it.Build, it.Format, it.Size)
		totals[it.Target+"\t\t"+it.Format] += it.Size
	}
	for _, key := range slices.Sorted(maps.Keys(totals)) {
		fmt.Fprintf(table, "all\t%s\t%d\n", key, totals[key])
	}
	return table.Flush()
}
