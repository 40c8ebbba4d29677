package kill

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/jit/record"
)

// A writer is one process to be killed.
type writer struct {
	number int    // its own
	slot   int    // of those that live at one time
	dir    string // for all of them
}

// kinds are the things that writers write. Write makes the i-th; look returns what is wrong after the
// writer was killed, which had said that it was done with the first n.
var kinds = []struct {
	name  string
	write func(w writer, i int) error
	look  func(w writer, n int) error
}{
	{"cache", writeEntry, lookEntries},
	{"bundle", writeBundle, lookBundle},
	{"record", writeRecord, lookRecord},
}

// writeAll writes until somebody kills the process, and says so after each.
func writeAll(role string) error {
	part := strings.Split(role, " ") // kind, number, slot, directory
	if len(part) != 4 {
		return fmt.Errorf("role %q", role)
	}
	kind, kerr := strconv.Atoi(part[0])
	number, nerr := strconv.Atoi(part[1])
	slot, serr := strconv.Atoi(part[2])
	if err := errors.Join(kerr, nerr, serr); err != nil {
		return err
	}
	w := writer{number, slot, part[3]}
	fmt.Println("ready")
	for i := 0; ; i++ {
		if err := kinds[kind].write(w, i); err != nil {
			return err
		}
		if _, err := fmt.Println(i); err != nil {
			return err
		}
	}
}

// shared is how many entries all writers of the cache write.
const shared = 8

func cacheDir(dir string) string { return filepath.Join(dir, "cache") }

// entry is what belongs to a name, in one of several sizes.
func entry(name string, size int) *cache.Entry {
	body := bytes.Repeat([]byte(name+"\n"), 1+size%97*50) // to 100 kB
	return &cache.Entry{Header: cache.Header{Kind: cache.KindArtifact, Kernel: name, Target: "ptx:sm_90"}, Body: body}
}

// check returns what is wrong with the entry of a name.
func check(name string, e *cache.Entry) error {
	line := []byte(name + "\n")
	if n := bytes.Count(e.Body, line); e.Kernel != name || n == 0 || n*len(line) != len(e.Body) {
		return fmt.Errorf("%s: got an entry of %q with %d bytes of which %d lines are right", name, e.Kernel, len(e.Body), n)
	}
	return nil
}

func (w writer) entry(i int) string { return fmt.Sprintf("writer %d entry %d", w.number, i) }

func sharedEntry(i int) string { return fmt.Sprintf("shared %d", i%shared) }

func writeEntry(w writer, i int) error {
	s, err := cache.Open(cacheDir(w.dir))
	if err != nil {
		return err
	}
	name := sharedEntry(w.number + i)
	if err := s.Put(cache.NewKey(name), entry(name, w.number*31+i)); err != nil {
		return err
	}
	name = w.entry(i)
	return s.Put(cache.NewKey(name), entry(name, i))
}

func lookEntries(w writer, n int) error {
	s, err := cache.Open(cacheDir(w.dir))
	if err != nil {
		return err
	}
	for i := range n {
		if err := lookEntry(s, w.entry(i)); err != nil {
			return err
		}
	}
	return nil
}

// lookEntry gets an entry that a writer was done with.
func lookEntry(s *cache.Store, name string) error {
	e, ok := s.Get(cache.NewKey(name))
	if !ok {
		return fmt.Errorf("%s: lost", name)
	}
	return check(name, e)
}

// bundleFile is the file of one slot, or of all for "all".
func bundleFile(dir, slot string) string { return filepath.Join(dir, "bundles", slot+".kiln") }

func (w writer) bundle() string { return bundleFile(w.dir, strconv.Itoa(w.slot)) }

func writeBundle(w writer, i int) error {
	b := bundle.Writer{Compiler: fmt.Sprintf("%d/%d", w.number, i)}
	for n := range 2 {
		name := fmt.Sprintf("%s %d", w.entry(i), n)
		if err := b.Add(cache.NewKey(name), entry(name, i)); err != nil {
			return err
		}
	}
	if err := b.WriteFile(bundleFile(w.dir, "all")); err != nil {
		return err
	}
	return b.WriteFile(w.bundle())
}

// readBundle reads all of a bundle, and returns whose it is.
func readBundle(name string) (number, version int, err error) {
	b, err := bundle.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer b.Close()
	if err := b.Verify(); err != nil {
		return 0, 0, err
	}
	_, err = fmt.Sscanf(b.Header().Compiler, "%d/%d", &number, &version)
	return number, version, err
}

func lookBundle(w writer, n int) error {
	number, version, err := readBundle(w.bundle())
	if n == 0 && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// The last one may be there without the writer having said so.
	if n > 0 && (number != w.number || version != n-1 && version != n) {
		return fmt.Errorf("%s: is version %d of writer %d, want version %d of writer %d", w.bundle(), version, number, n-1, w.number)
	}
	return nil
}

// perRecord is how many writers, one after the other, share a record. It bounds how long
// records become.
const perRecord = 40

// batch is how many writers one after the other have those that share a record.
const batch = perRecord * 3

func recordFile(dir string, number int) string {
	return filepath.Join(dir, "records", fmt.Sprintf("kernels%d.txt", number/batch))
}

// inherited are the specialisations that are in every record from the start.
func inherited() *record.Set {
	var r record.Set
	for i := range 20 {
		r.Add(record.Spec{Kernel: fmt.Sprintf("example.com/old.K%d", i), Sig: "func(dsl.Thread, []float32)"})
	}
	return &r
}

// spec is one that a writer adds; every second has been there, and gets another target.
func (w writer) spec(i int) record.Spec {
	s := record.Spec{Kernel: fmt.Sprintf("example.com/w%d.K%d", w.number, i), Targets: []string{"ptx:sm_90"}}
	if i%2 == 1 {
		s.Kernel, s.Sig = "example.com/old.K0", "func(dsl.Thread, []float32)"
		s.Targets = []string{fmt.Sprintf("w%d:%d", w.number, i)}
	}
	return s
}

// recorders are what a process writes to records with, one for each.
var recorders = map[string]*record.Writer{}

func writeRecord(w writer, i int) error {
	name := recordFile(w.dir, w.number)
	if recorders[name] == nil {
		recorders[name] = record.NewWriter(name)
	}
	return recorders[name].Add(w.spec(i))
}

func lookRecord(w writer, n int) error {
	want := inherited()
	for i := range n {
		want.Add(w.spec(i))
	}
	return lookSpecs(recordFile(w.dir, w.number), want)
}

// lookSpecs returns what of a record is not in a file.
func lookSpecs(name string, want *record.Set) error {
	var have record.Set
	if err := have.Load(name); err != nil {
		return err
	}
	for _, s := range want.Specs() {
		if have.Add(s) {
			return fmt.Errorf("%s: lost %s", name, s)
		}
	}
	return nil
}
