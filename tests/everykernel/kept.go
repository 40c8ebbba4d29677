package everykernel

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/atomicfile"
)

// kept is a program as it is kept for the tests of other packages.
type kept struct {
	Kernel, Text string
	Positions    []ir.Pos
	Covers       bool // by cover's choice
}

// covers are the programs that cover has chosen.
var covers sync.Map

func covering(p *compiler.Program) bool {
	_, ok := covers.Load(p)
	return ok
}

const (
	others  = 10 * time.Minute   // how long another test may take to compile all kernels
	keepFor = 7 * 24 * time.Hour // how long programs are kept that nobody asks for
)

// shared returns the programs that build makes of the sources, and chooses to cover them. What one
// test has built is kept in the user's cache, by a hash of all code that it depends on, for those
// of the other emitters: compiling all kernels to IR takes longer than most of what they do with
// it.
func shared(t testing.TB, src sources, choose func() ([]*compiler.Program, map[*compiler.Program]bool)) []*compiler.Program {
	t.Helper()
	build := func() []*compiler.Program {
		list, chosen := choose()
		for p := range chosen {
			covers.Store(p, true)
		}
		return list
	}
	dir, err := os.UserCacheDir()
	if err != nil || src.edited() {
		return build()
	}
	dir = filepath.Join(dir, "kiln-tests")
	if os.MkdirAll(dir, 0o700) != nil {
		return build()
	}
	name := filepath.Join(dir, "programs-"+src.key)
	if unlock, err := atomicfile.Lock(name+".lock", others); err == nil {
		defer unlock()
	}
	if list, err := read(name); err == nil {
		now := time.Now()
		_ = os.Chtimes(name, now, now)
		return list
	}
	list := build()
	removeOld(dir)
	if err := write(name, list); err != nil {
		t.Logf("the programs are not kept: %v", err)
	}
	return list
}

func read(name string) (list []*compiler.Program, err error) {
	data, err := atomicfile.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []kept
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&all); err != nil {
		return nil, err
	}
	for _, k := range all {
		p := &compiler.Program{Kernel: k.Kernel, Text: k.Text, Positions: k.Positions}
		if list = append(list, p); k.Covers {
			covers.Store(p, true)
		}
	}
	return list, nil
}

func write(name string, list []*compiler.Program) error {
	var all []kept
	for _, p := range list {
		all = append(all, kept{p.Kernel, p.Text, p.Positions, covering(p)})
	}
	return atomicfile.Write(name, 0o600, func(w io.Writer) error { return gob.NewEncoder(w).Encode(all) })
}

// removeOld removes what nobody has asked for in a while.
func removeOld(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "programs-*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > keepFor {
			_ = os.Remove(file)
		}
	}
}

// sources are the Go files of this module without tests.
type sources struct {
	folders []string // those with kernels, in order
	key     string   // hash of all of them, and of what else decides what Programs returns
	newest  time.Time
}

// edited reports whether a file was written after the running test was linked: it is perhaps not
// the code that the test has.
func (s sources) edited() bool {
	exe, err := os.Executable()
	if err != nil {
		return true
	}
	info, err := os.Stat(exe)
	return err != nil || !s.newest.Before(info.ModTime())
}

// readSources reads all sources.
func readSources(t testing.TB, root string) (s sources) {
	t.Helper()
	h := sha256.New()
	fmt.Fprintf(h, "%s %t\n", runtime.Version(), All())
	for _, name := range []string{"go.mod", "go.sum"} {
		_, err := s.add(h, root, filepath.Join(root, name))
		require.NoError(t, err)
	}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := s.add(h, root, path)
		dir, n := filepath.Dir(path), len(s.folders)
		if bytes.Contains(text, []byte("\n//kiln:kernel\n")) && (n == 0 || s.folders[n-1] != dir) {
			s.folders = append(s.folders, dir)
		}
		return err
	}))
	s.key = hex.EncodeToString(h.Sum(nil))
	return s
}

// add adds a file to the hash.
func (s *sources) add(h hash.Hash, root, path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.ModTime().After(s.newest) {
		s.newest = info.ModTime()
	}
	rel, err := filepath.Rel(root, path)
	fmt.Fprintf(h, "%s %d\n", filepath.ToSlash(rel), len(text))
	h.Write(text)
	return text, err
}
