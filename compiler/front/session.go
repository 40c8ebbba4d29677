package front

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"sync"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/constval"
	"github.com/gokiln/kiln/compiler/front/internal/lru"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/ir"
)

// A session is a compilation that was carried up to SSA form without a mistake. It
// serves later requests for what it covers, which then cost their lowering, and
// for new types one instance in SSA form. Library code, such as the functions of
// package dsl, is checked and built once a session and not once a kernel.
//
// Reachability is closed: a session that holds the declarations that a request
// names holds all that they reach. A larger session makes the same IR, for lowering
// starts at the kernel.
type session struct {
	b        *build
	requests int // that it was made for

	mu  sync.Mutex               // guards what grows: the type-checked package and the SSA program
	fns map[string]*ssa.Function // by text of the instance
}

// sessions are those of a kernel package. One grows with the requests; the others
// are of single requests, made before it was worth to grow.
//
// A request that no session covers makes one of its own, and when there have been as
// many of them as the large session was made for, the next makes a large one for
// all. A package of n kernels is so compiled at most three times over.
type sessions struct {
	sync.Mutex
	large  *session
	small  []*session
	roots  []*source.Decl // of all requests so far
	known  map[*source.Decl]bool
	floats bool // see build.floats8
	misses int
	fixed  bool // a large session had mistakes: there will be no other
}

// maxSmall is how many sessions of single requests a package keeps.
const maxSmall = 8

// sessionsOf returns the sessions of a kernel package.
func sessionsOf(u *source.Unit) *sessions {
	return u.Attach(func() any { return new(sessions) }).(*sessions)
}

// keepSessions notes that u has sessions, and how large they are.
func keepSessions(u *source.Unit) {
	ws := sessionsOf(u)
	ws.Lock()
	n := ws.bytes()
	ws.Unlock()
	shared.Put(u, u, n)
}

func (ws *sessions) clear() {
	ws.Lock()
	defer ws.Unlock()
	ws.large, ws.small, ws.roots, ws.known, ws.misses = nil, nil, nil, nil, 0
}

// query is what a request needs of a session.
type query struct {
	u      *source.Unit
	kernel *source.Decl
	roots  []*source.Decl
	floats bool
	key    string // of the instance, "" for a kernel without type parameters

	inst    *ast.GenDecl // declares a variable that holds the instance
	file    *source.File // of its text
	imports map[string]string
}

// query finds what a request names, nil if that is not as plain as it has to be.
func (b *build) query(u *source.Unit, kernel *source.Decl, req Request) *query {
	w := &query{u: u, kernel: kernel, roots: []*source.Decl{kernel}}
	fn, ok := kernel.Node.(*ast.FuncDecl)
	if !ok || kernel.Next != nil || len(req.Funcs) > 0 {
		return nil
	}
	if fn.Type.TypeParams == nil {
		return w
	}
	if req.Sig == "" && len(req.TypeArgs) == 0 {
		return nil
	}
	text, imports := instanceText(u, kernel, req)
	w.key = text
	tree, tok, err := source.ParseFile("instance", []byte(w.key), 0)
	if err != nil || !plainInstance(tree) {
		return nil
	}
	d := (&instance{kernel: kernel, tok: tok, imports: imports}).decl(u, tree)
	w.inst, w.file = d.Node.(*ast.GenDecl), d.File
	if !b.resolve(w, d.Refs) {
		return nil
	}
	return w
}

// resolve finds the declarations that the instance names.
func (b *build) resolve(w *query, r *source.Refs) bool {
	for _, id := range r.Names {
		switch d := w.u.Decls[id.Name]; {
		case d != nil && d.Next == nil:
			w.roots = append(w.roots, d)
		case d != nil || types.Universe.Lookup(id.Name) == nil:
			return false
		}
	}
	w.imports = map[string]string{}
	for _, s := range r.Sels {
		im, from, err := b.findImport(w.file, s.Package.Name)
		if err != nil || from == nil || w.u.Decls[s.Package.Name] != nil {
			return false
		}
		d := from.Decls[s.Sel.Sel.Name]
		if d == nil || d.Next != nil {
			return false
		}
		w.roots = append(w.roots, d)
		w.floats = w.floats || isFloat8(from, d)
		w.imports[s.Package.Name] = im.Path
	}
	return len(r.Weak) == 0
}

// covers reports whether the session holds what a request names.
func (w *session) covers(q *query) bool {
	if q.floats && !w.b.floats8 {
		return false
	}
	for _, d := range q.roots {
		if !w.b.seen[d] {
			return false
		}
	}
	return true
}

// fresh reports whether the packages that the session was made of are still those
// that load returns.
func (w *session) fresh(load Loader) bool {
	b := newBuild(load)
	for _, u := range w.b.order {
		if u.Lib || u.Path == w.b.order[0].Path {
			continue
		}
		if v, err := b.unit(u.Path); err != nil || v != u {
			return false
		}
	}
	return true
}

// find returns a session for q, nil if there is none: the caller then compiles on
// its own. grow is set if it should compile for all requests so far.
func (ws *sessions) find(q *query, load Loader) (w *session, grow []*source.Decl) {
	ws.Lock()
	defer ws.Unlock()
	for _, w := range append(slices.Clip(ws.small), ws.large) {
		if w != nil && w.covers(q) && w.fresh(load) {
			return w, nil
		}
	}
	if ws.known == nil {
		ws.known = map[*source.Decl]bool{}
	}
	for _, d := range q.roots {
		if !ws.known[d] {
			ws.known[d] = true
			ws.roots = append(ws.roots, d)
		}
	}
	ws.floats = ws.floats || q.floats
	ws.misses++
	if ws.large == nil || ws.fixed || ws.misses < ws.large.requests {
		return nil, nil
	}
	return nil, slices.Clone(ws.roots)
}

// reuse compiles a request in a session, nil if it has to be compiled on its own:
// because no session covers it, or to find its mistakes.
func (b *build) reuse(q *query, req Request) (m *ir.Module) {
	if q == nil {
		return nil
	}
	ws := sessionsOf(q.u)
	w, grow := ws.find(q, b.loader)
	if len(grow) > 0 {
		w = b.enlarge(q.u, grow)
		keepSessions(q.u)
	}
	if w == nil {
		return nil
	}
	shared.Get(q.u) // it is in use
	defer func() {
		if recover() != nil {
			m = nil // compiled on its own it fails too, and says where
		}
	}()
	fn := w.function(q)
	if fn == nil {
		return nil
	}
	c := w.b.fork(req)
	c.inst = &instance{kernel: q.kernel}
	if m = c.lower(q.u, fn); len(c.Diags) > 0 {
		return nil
	}
	return m
}

// fork returns a compilation that shares what is complete and has its own
// diagnostics and constants.
func (b *build) fork(req Request) *build {
	c := *b
	c.Diags, c.At = nil, token.NoPos
	c.consts = constval.New(req)
	return &c
}

// enlarge makes a session for all requests so far.
func (b *build) enlarge(u *source.Unit, roots []*source.Decl) *session {
	ws := sessionsOf(u)
	ws.Lock()
	n, floats := ws.misses, ws.floats
	if ws.large != nil {
		n += ws.large.requests
	}
	ws.misses = 0
	ws.Unlock()

	c := newBuild(b.loader)
	c.units[u.Path] = u
	c.part(u)
	c.floats8 = floats
	ok := c.safely(func() {
		for _, d := range roots {
			c.reach(d)
		}
		if c.budget(); len(c.Diags) == 0 {
			c.check()
		}
		if len(c.Diags) == 0 {
			c.subset()
		}
		if len(c.Diags) == 0 {
			c.reachDispatch()
		}
		if len(c.Diags) == 0 {
			c.expand()
		}
		if len(c.Diags) == 0 {
			c.buildSSA()
		}
	})
	ws.Lock()
	defer ws.Unlock()
	if !ok || len(c.Diags) > 0 {
		ws.fixed = true
		return nil
	}
	ws.large = &session{b: c, requests: n, fns: map[string]*ssa.Function{}}
	ws.small = nil
	return ws.large
}

// safely reports whether f returned; a panic of go/types or go/ssa will be
// reported by the compilation of the kernel that causes it.
func (b *build) safely(f func()) (ok bool) {
	defer func() { ok = recover() == nil }()
	f()
	return true
}

// share offers a compilation without mistakes to later requests.
func (b *build) share(q *query, fn *ssa.Function) {
	if q == nil || len(b.Diags) > 0 {
		return
	}
	w := &session{b: b, requests: 1, fns: map[string]*ssa.Function{q.key: fn}}
	ws := sessionsOf(q.u)
	ws.Lock()
	if ws.large == nil {
		ws.large = w
		ws.misses = 0
	} else {
		if len(ws.small) >= maxSmall {
			ws.small = slices.Delete(ws.small, 0, 1)
		}
		ws.small = append(ws.small, w)
	}
	ws.Unlock()
	keepSessions(q.u)
}

// function returns the kernel in SSA form, nil if its types are not right.
func (w *session) function(q *query) *ssa.Function {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.key == "" {
		return w.b.part(q.u).ssa.Func(q.kernel.Name)
	}
	fn, ok := w.fns[q.key]
	if !ok {
		fn = w.instantiate(q)
		w.fns[q.key] = fn
	}
	return fn
}

// instantiate type-checks the variable that holds the instance, in the scope of
// the kernel's package, and builds it as the initialisation of a package of its
// own: to go/ssa the kernel's package is complete.
func (w *session) instantiate(q *query) *ssa.Function {
	p := w.b.part(q.u)
	spec := q.inst.Specs[0].(*ast.ValueSpec)
	name := &ast.Ident{NamePos: spec.Names[0].NamePos, Name: fmt.Sprintf("%s%d", instanceVar, len(w.fns)+1)}
	spec.Names[0] = name
	one := &part{u: q.u, imports: map[*source.File]map[string]string{q.file: q.imports}}
	tree := one.newFile(q.file, q.inst)
	tree.Decls = append(tree.Decls, q.inst)

	w.b.Fset.AddExistingFiles(q.file.Tok)
	defer w.b.Fset.RemoveFile(q.file.Tok)
	wrong := false
	info := newInfo()
	conf := &types.Config{GoVersion: goVersion, Sizes: sizes, Importer: importer{w.b}, Error: func(error) { wrong = true }}
	_ = types.NewChecker(conf, w.b.Fset, p.pkg, info).Files([]*ast.File{tree}) // errors go to conf.Error
	if wrong {
		return nil
	}
	pkg := w.b.prog.CreatePackage(types.NewPackage(q.u.Path+"/"+name.Name, q.u.Name), []*ast.File{tree}, info, false)
	pkg.Build()
	return storedFunc(pkg, name.Name)
}

// maxShared bounds what is kept of packages that are checked and built, in bytes.
const maxShared = 64 << 20

var shared = lru.Cache[*source.Unit, *source.Unit]{Most: maxShared, Drop: func(u *source.Unit) { sessionsOf(u).clear() }}

// Trim gives back the memory that is kept to compile further kernels faster.
func Trim() {
	source.Parsed.Clear()
	shared.Clear()
}

// What a compilation takes in memory, as measured.
const (
	worldBytes = 16 << 10 // itself, and
	typeBytes  = 450      // each expression that has a type
)

// bytes estimates the memory of a package's compilations, with the lock held.
func (ws *sessions) bytes() int {
	n := 0
	for _, w := range append(ws.small[:len(ws.small):len(ws.small)], ws.large) {
		if w != nil {
			n += worldBytes + typeBytes*len(w.b.info.Types)
		}
	}
	return n
}
