package dsl

import (
	"embed"
	"io/fs"
	"net/url"
	"runtime"
	"sort"
	"strings"
	"sync"
)

// The patterns leave out tests, whose names end in "st.go"; so no other file of
// this package may end so.
//
//go:embed *[^t].go *[^s]t.go
var ownSource embed.FS

// API returns the source of this package, which the compiler reads when a
// kernel calls one of its functions.
func API() fs.FS { return ownSource }

// SourceTag is what [Source] returns. It lets the registration stand in a
// variable declaration, where it needs no init function.
type SourceTag struct{ path string }

// Path is the import path under which the source was registered.
func (s SourceTag) Path() string { return s.path }

var registry struct {
	sync.RWMutex
	byPath map[string]fs.FS
	byDir  map[string][]string // directory of the source when it was compiled -> import paths
}

// Source registers the kernel source of the calling package under its import
// path. Call it in a package-level variable declaration:
//
//	//go:embed *.go
//	var source embed.FS
//
//	var _ = dsl.Source(source)
//
// A package that calls it more than once registers the union of its files.
//
//go:noinline
func Source(files embed.FS) SourceTag {
	var pcs [4]uintptr
	frame, _ := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])]).Next()
	path := packageOf(frame.Function)
	registry.Lock()
	defer registry.Unlock()
	if registry.byPath == nil {
		registry.byPath = map[string]fs.FS{}
		registry.byDir = map[string][]string{}
	}
	if earlier, ok := registry.byPath[path]; ok {
		registry.byPath[path] = union{earlier, files}
	} else {
		registry.byPath[path] = files
		dir := dirOf(frame.File)
		registry.byDir[dir] = append(registry.byDir[dir], path)
	}
	return SourceTag{path}
}

// SourceOf returns the source that the package with the given import path
// registered. The source of this package is always there. Programs register
// their package main as "main".
func SourceOf(path string) (fs.FS, bool) {
	if path == ownPath {
		return ownSource, true
	}
	registry.RLock()
	defer registry.RUnlock()
	files, ok := registry.byPath[path]
	return files, ok
}

// SourcesAt returns the import paths of the registered packages whose source stood
// in the directory of a file, as the Go compiler names files: a package and,
// while it is tested, the package of its external tests.
func SourcesAt(file string) []string {
	registry.RLock()
	defer registry.RUnlock()
	return registry.byDir[dirOf(file)]
}

func dirOf(file string) string { return file[:strings.LastIndexAny(file, `/\`)+1] }

// Sources returns the import paths of all registered packages, sorted.
func Sources() []string {
	registry.RLock()
	defer registry.RUnlock()
	paths := make([]string, 0, len(registry.byPath))
	for p := range registry.byPath {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	return paths
}

var ownPath = packageOf(func() string {
	pc, _, _, _ := runtime.Caller(1)
	return runtime.FuncForPC(pc).Name()
}())

// packageOf returns the import path in the name of a function. The linker
// escapes dots of the last path element as %2e.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	if dot := strings.IndexByte(function[slash:], '.'); dot >= 0 {
		function = function[:slash+dot]
	}
	if path, err := url.PathUnescape(function); err == nil {
		return path
	}
	return function
}
