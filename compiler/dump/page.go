package dump

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/compiler/target"
)

// Page is everything that is known of one kernel instance compiled for one
// target.
type Page struct {
	Kernel    string // package path, function and type arguments
	Target    target.Target
	Sources   []Source
	Columns   []*Column // the IR, then the text for the target
	Layouts   []Layout  // of the matrix instructions that the kernel has
	Log       string    // of the vendor's compiler
	Resources Resources
	Problem   string // why the page ends early, "" if it does not
}

// Column is one state of the kernel.
type Column struct {
	Title string
	Note  string   // what the pass does
	Same  []string // passes before this one that changed nothing
	Open  bool     // shown unfolded at first
	Lines []Line
}

// Line is a line of a column.
type Line struct {
	Tokens []Token
	Pos    ir.Pos // where it comes from, zero if unknown
	Indent bool
	Head   bool // begins a function
	Mark   Mark

	key string // equal for the same line in two columns
}

// Token is a piece of a line. Tokens with the same non-empty Ref are the same
// value, block or register.
type Token struct {
	Text string
	Ref  string
}

// Mark says how a line differs from the columns beside it.
type Mark uint8

// The marks; a line may have both.
const (
	Added   Mark = 1 << iota // was not in the column before
	Removed                  // is not in the column after
)

// Resources is what a kernel needs of its processor, as the vendor's compiler
// says.
type Resources struct {
	Known       bool // the compiler was asked
	Registers   int  // of a thread
	SpillStores int  // bytes
	SpillLoads  int  // bytes
	Local       int  // bytes of a thread in local memory, spills among them
	Shared      int  // bytes of a block; known without the compiler
}

// Input is what [Collect] compiles.
type Input struct {
	Request front.Request
	Load    front.Loader
	Target  target.Target
	Options compiler.Options
	// Assemble gives the artifact to the vendor's compiler and returns its
	// log; nil if there is none.
	Assemble func(*compiler.Artifact) (log string, err error)
}

// Collect compiles a kernel and keeps what it becomes. Mistakes in the kernel
// that leave nothing to show are an error; later ones end the page early.
func Collect(in Input) (*Page, error) {
	texts := &texts{load: in.Load, seen: map[string]*front.Package{}}
	prog, err := compiler.Front(in.Request, texts.loader)
	if err != nil {
		return nil, fmt.Errorf("dumping %s.%s: %w", in.Request.Pkg, in.Request.Func, err)
	}
	p := &Page{Kernel: prog.Kernel, Target: in.Target}
	first, err := ir.Parse(prog.Text)
	if err != nil {
		return nil, fmt.Errorf("dumping %s: reading IR: %w", prog.Kernel, err)
	}
	first.Pos = prog.Positions
	p.Sources = texts.sources(first)
	p.Columns = []*Column{{Title: "front end", Note: "The kernel as the front end hands it over: functions are separate, positions are those of the Go source.", Open: true, Lines: render(first)}}
	w := &watcher{page: p}
	opt := in.Options
	opt.Lines, opt.After = true, w.after
	art, err := prog.Emit(in.Target, opt)
	w.finish()
	if err != nil {
		p.Problem = fmt.Sprintf("%+v", err)
		return p, nil
	}
	p.finish(art, in.Assemble)
	return p, nil
}

// finish adds what follows from the compiled artifact.
func (p *Page) finish(art *compiler.Artifact, assemble func(*compiler.Artifact) (string, error)) {
	if p.Target.Kind == target.PTX {
		p.Columns = append(p.Columns, &Column{
			Title: p.Target.String(), Note: "The text that the driver assembles.", Open: true, Lines: renderPTX(string(art.Code)),
		})
	}
	p.Resources.Shared = art.Shared
	if assemble == nil {
		return
	}
	log, err := assemble(art)
	if err != nil {
		p.Problem = fmt.Sprintf("%+v", err)
	}
	p.Log = log
	p.Resources = ParseLog(log)
	p.Resources.Shared = max(p.Resources.Shared, art.Shared)
}

// watcher adds a column for each pass that changes something.
type watcher struct {
	page *Page
	row  int // next row of the pass tables
	same []string
	runs map[string]int
}

// after is called after each pass; the module will change again, so the text
// is made now.
func (w *watcher) after(name string, m *ir.Module) {
	note := ""
	for rows := slices.Concat(pass.Passes, pass.Vector); w.row < len(rows); w.row++ {
		if rows[w.row].Name == name {
			note = rows[w.row].Doc
			w.row++
			break
		}
	}
	if w.runs == nil {
		w.runs = map[string]int{}
	}
	w.runs[name]++
	title := name
	if n := w.runs[name]; n > 1 {
		title = fmt.Sprintf("%s %d", name, n)
	}
	last := w.page.Columns[len(w.page.Columns)-1]
	lines := render(m)
	w.page.Layouts = layouts(m, w.page.Target)
	if slices.EqualFunc(last.Lines, lines, func(a, b Line) bool { return a.key == b.key }) {
		w.same = append(w.same, title)
		return
	}
	mark(last.Lines, lines)
	w.page.Columns = append(w.page.Columns, &Column{Title: title, Note: note, Same: w.same, Lines: lines})
	w.same = nil
}

// finish unfolds the last state of the IR.
func (w *watcher) finish() {
	last := w.page.Columns[len(w.page.Columns)-1]
	last.Open = true
	last.Same = append(last.Same, w.same...)
}

// mark compares two states. A line is the same if it defines the same value by
// the same operation in the same block; order within a block does not count,
// because renumbering aside that is never what a pass is about.
func mark(before, after []Line) {
	count := map[string]int{}
	for _, l := range before {
		count[l.key]++
	}
	for i, l := range after {
		if count[l.key] == 0 {
			after[i].Mark |= Added
		} else {
			count[l.key]--
		}
	}
	clear(count)
	for _, l := range after {
		count[l.key]++
	}
	for i, l := range before {
		if count[l.key] == 0 {
			before[i].Mark |= Removed
		} else {
			count[l.key]--
		}
	}
}
