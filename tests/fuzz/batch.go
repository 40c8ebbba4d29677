package fuzz

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gokiln/kiln/tests/fuzz/gen"
)

// perPackage is the number of kernels in a package. The Go compiler works on
// packages in parallel, and its memory grows with their size.
const perPackage = 100

// Batch is a set of kernels for one program.
type Batch struct {
	Kernels []gen.Kernel
	// Root is the directory of this module's go.mod.
	Root string
}

// Generate returns the kernels of n seeds.
func Generate(seed uint64, n int) []gen.Kernel {
	list := make([]gen.Kernel, n)
	for i := range list {
		list[i] = gen.New(seed + uint64(i))
	}
	return list
}

// ErrNoGo says that there is no go command to build with.
var ErrNoGo = errors.New("the go command is not in PATH")

// ErrArch says that plain Go is no reference on this machine: its compiler may
// fuse a multiplication and an addition.
var ErrArch = errors.New("plain Go fuses multiply-add on this architecture, so its bits differ from a kernel's")

// Build writes the module to dir, which exists and is empty, and builds the
// program. It needs neither a network nor anything but the Go toolchain.
func (b Batch) Build(dir, binary string) error {
	tool, err := exec.LookPath("go")
	if err != nil {
		return ErrNoGo
	}
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("%s: %w", runtime.GOARCH, ErrArch)
	}
	if binary, err = filepath.Abs(binary); err != nil {
		return fmt.Errorf("place of the program: %w", err)
	}
	if err := b.write(dir); err != nil {
		return fmt.Errorf("writing the module of generated kernels: %w", err)
	}
	cmd := exec.Command(tool, "build", "-trimpath", "-ldflags=-s -w", "-o", binary, ".")
	cmd.Dir = dir
	// GOAMD64=v1: higher levels fuse multiply-add.
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOAMD64=v1", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building generated kernels in %s: %w\n%s", dir, err, out)
	}
	return nil
}

const modulePath = "kilnfuzz"

func (b Batch) write(dir string) error {
	mod, err := os.ReadFile(filepath.Join(b.Root, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(b.Root, "go.sum"))
	if err != nil {
		return err
	}
	// The requirements of this module are those of the generated one.
	_, requirements, _ := strings.Cut(string(mod), "\n")
	files := map[string]string{
		"go.mod": fmt.Sprintf("module %s\n%s\nrequire github.com/gokiln/kiln v0.0.0\n\nreplace github.com/gokiln/kiln => %q\n", modulePath, requirements, b.Root),
		"go.sum": string(sum),
	}
	var imports, lists strings.Builder
	for i := 0; i*perPackage < len(b.Kernels); i++ {
		name := fmt.Sprintf("k%d", i)
		part := b.Kernels[i*perPackage : min((i+1)*perPackage, len(b.Kernels))]
		files[name+"/kernels.go"] = packageText(name, part)
		files[name+"/support.go"] = fmt.Sprintf("package %s\n\n%s%s", name, gen.Imports, gen.Support())
		fmt.Fprintf(&imports, "\t%q\n", modulePath+"/"+name)
		lists.WriteString(table(name, part))
	}
	files["main.go"] = fmt.Sprintf(mainText, imports.String(), lists.String())
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

const mainText = `package main

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/fuzz/harness"

%s)

func main() { harness.Main(kernels) }

var kernels = []harness.Kernel{
%s}
`

func packageText(name string, kernels []gen.Kernel) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n\t\"embed\"\n", name)
	b.WriteString(strings.TrimPrefix(gen.Imports, "import ("))
	b.WriteString("\n//go:embed *.go\nvar source embed.FS\n\nvar _ = dsl.Source(source)\n\n")
	for _, k := range kernels {
		b.WriteString(k.Source)
	}
	return b.String()
}

// table lists the kernels of a package in Go.
func table(pkg string, kernels []gen.Kernel) string {
	var b strings.Builder
	for _, k := range kernels {
		lens := strings.Trim(strings.ReplaceAll(fmt.Sprint(k.Lens), " ", ", "), "[]")
		fmt.Fprintf(&b, "\t{%d, %q, %s.%s, dsl.D3(%s), dsl.D3(%s), []int{%s}},\n", k.Seed, k.Name, pkg, k.Name, three(k.Blocks), three(k.Threads), lens)
	}
	return b.String()
}

func three(d [3]int) string { return fmt.Sprintf("%d, %d, %d", d[0], d[1], d[2]) }
