package through

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/llvm"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/detour"
	"github.com/gokiln/kiln/internal/tooltest"
)

// Images is LLVM's PTX of texts.
type Images struct{ archive *zip.ReadCloser }

// OpenImages opens an archive that [Recorder.Write] wrote, also one at the end of
// another file.
func OpenImages(file string) (*Images, error) {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, fmt.Errorf("PTX that LLVM made, in %s: %w", file, err)
	}
	return &Images{z}, nil
}

// Close closes the archive.
func (im *Images) Close() error { return im.archive.Close() }

// name is what the PTX of a text is called.
func name(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]) + ".ptx"
}

// PTX returns what LLVM made of a text.
func (im *Images) PTX(text string) ([]byte, error) {
	f, err := im.archive.Open(name(text))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the archive has no PTX of this LLVM IR; make it again, of the same source")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Recorder collects LLVM IR for an architecture.
type Recorder struct {
	tgt   target.Target
	mu    sync.Mutex
	texts map[string]bool
}

// NewRecorder returns a recorder for one of NVIDIA's architectures.
func NewRecorder(arch string) (*Recorder, error) {
	t, err := to(target.LLVM)(arch)
	return &Recorder{tgt: t, texts: map[string]bool{}}, err
}

// Target is what the texts are for.
func (r *Recorder) Target() target.Target { return r.tgt }

// Add adds a text.
func (r *Recorder) Add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts[text] = true
}

// Has reports whether a text was added.
func (r *Recorder) Has(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.texts[text]
}

// Way runs kernels on the CPU as usual, after adding what LLVM would be given for them
// on a GPU.
func (r *Recorder) Way() *detour.Way {
	arch := func(string) (target.Target, error) { return r.tgt, nil }
	return &detour.Way{Loads: compiler.FormatIR, Target: arch, Emit: func(p *compiler.Program, t target.Target, opt compiler.Options) (*compiler.Artifact, error) {
		art, err := p.Emit(t, opt)
		if err != nil {
			return nil, err
		}
		r.Add(string(art.Code))
		return p.Emit(target.CPU, opt)
	}}
}

// For returns a recorder for a test, which is skipped without LLVM, or fails where
// KILN_REQUIRE_TOOLS=1 says that the machine has everything.
func For(tb testing.TB, arch string) *Recorder {
	tb.Helper()
	r, err := NewRecorder(arch)
	if err == nil {
		_, err = llvm.FindTools(r.tgt)
	}
	tooltest.Need(tb, err)
	return r
}

// WriteFile is [Recorder.Write] to the file that KILN_LLVM_RECORD names, or to one that
// is gone after the test. It returns the archive.
func (r *Recorder) WriteFile(tb testing.TB) *Images {
	tb.Helper()
	file := os.Getenv("KILN_LLVM_RECORD")
	if file == "" {
		file = filepath.Join(tb.TempDir(), "images.zip")
	}
	f, err := os.Create(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	n, err := r.Write(tb.Context(), f)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Logf("%d texts", n)
	images, err := OpenImages(file)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = images.Close() }) // of a file that is only read
	return images
}

// Write has LLVM make PTX of all texts and writes the archive. It returns how many
// there are.
func (r *Recorder) Write(ctx context.Context, w io.Writer) (int, error) {
	tools, err := llvm.FindTools(r.tgt)
	if err != nil {
		return 0, err
	}
	texts := slices.Sorted(maps.Keys(r.texts))
	ptx, errs := make([][]byte, len(texts)), make([]error, len(texts))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				ptx[i], errs[i] = tools.Build(ctx, texts[i], r.tgt)
			}
		})
	}
	for i := range texts {
		next <- i
	}
	close(next)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	z := zip.NewWriter(w)
	for i, text := range texts {
		f, err := z.Create(name(text))
		if err == nil {
			_, err = f.Write(ptx[i])
		}
		if err != nil {
			return 0, fmt.Errorf("writing PTX that LLVM made: %w", err)
		}
	}
	return len(texts), z.Close()
}
