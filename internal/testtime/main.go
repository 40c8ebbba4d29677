package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// record is the first argument where this program is what go test runs instead of a test binary.
// The file that times go to is the second, and then come the binary and its arguments.
const record = "-record"

func main() {
	code, err := 0, error(nil)
	if len(os.Args) > 3 && os.Args[1] == record {
		code, err = timed(os.Args[2], os.Args[3:])
	} else {
		code, err = measure(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testtime:", err)
		code = 2
	}
	os.Exit(code)
}

// took is what the tests of a package took.
type took struct {
	pkg       string // its folder, from the root
	cpu, wall time.Duration
}

// timed runs a test binary, and adds what it took to a file.
func timed(path string, args []string) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	begin := time.Now()
	code, err := exitCode(cmd.Run())
	if cmd.ProcessState == nil {
		return code, err
	}
	dir, errDir := os.Getwd()
	f, errOpen := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err := errors.Join(err, errDir, errOpen); err != nil {
		return code, err
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	_, err = fmt.Fprintf(f, "%d %d %s\n", cpu, time.Since(begin), dir) // one write, whole among others
	return code, errors.Join(err, f.Close())
}

// exitCode is the exit status of a program that ran.
func exitCode(err error) (int, error) {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// measure runs go test, and prints the table or writes it into a page.
func measure(args []string) (int, error) {
	page := ""
	if len(args) > 1 && args[0] == "-write" {
		page, args = args[1], args[2:]
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	f, err := os.CreateTemp("", "kiln-testtime-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	cmd := exec.Command("go", append([]string{"test", "-exec", fmt.Sprintf("'%s' %s '%s'", self, record, f.Name())}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	begin := time.Now()
	code, err := exitCode(cmd.Run())
	if err != nil {
		return 0, err
	}
	wall := time.Since(begin)
	root, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	list, err := read(f, root)
	if err != nil {
		return 0, err
	}
	text := table(list, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), wall)
	if page == "" {
		fmt.Print(text)
		return code, nil
	}
	return code, rewrite(page, text)
}

// read returns what test binaries took, the longest first.
func read(r io.Reader, root string) (list []took, err error) {
	for s := bufio.NewScanner(r); s.Scan(); {
		var t took
		var dir string
		if _, err := fmt.Sscanf(s.Text(), "%d %d %s", &t.cpu, &t.wall, &dir); err != nil {
			return nil, fmt.Errorf("reading %q: %w", s.Text(), err)
		}
		if t.pkg, err = filepath.Rel(root, dir); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b took) int {
		return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(a.pkg, b.pkg))
	})
	return list, nil
}

// least is what a package has to take for a row of its own.
const least = 5 * time.Second

// table writes what packages took. All is what go test and what it started took.
func table(list []took, all, wall time.Duration) string {
	var b strings.Builder
	b.WriteString("| package | CPU s | wall s |\n|---|---|---|\n")
	var sum, rest time.Duration
	few := 0
	for _, t := range list {
		sum += t.cpu
		if t.cpu < least {
			rest, few = rest+t.cpu, few+1
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %.0f | %.0f |\n", filepath.ToSlash(t.pkg), t.cpu.Seconds(), t.wall.Seconds())
	}
	fmt.Fprintf(&b, "| %d others | %.0f | |\n", few, rest.Seconds())
	fmt.Fprintf(&b, "| building and linking | %.0f | |\n", max(all-sum, 0).Seconds())
	fmt.Fprintf(&b, "| all | %.0f | %.0f |\n", all.Seconds(), wall.Seconds())
	return b.String()
}

// The lines of a page around its table.
const opening, closing = "<!-- testtime -->\n", "<!-- end of testtime -->\n"

// rewrite puts the table into a page in place of the one there.
func rewrite(page, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(old, []byte(opening))
	_, after, end := bytes.Cut(rest, []byte(closing))
	if !ok || !end {
		return fmt.Errorf("%s has no lines %q and %q for the table", page, strings.TrimSpace(opening), strings.TrimSpace(closing))
	}
	return os.WriteFile(page, slices.Concat(before, []byte(opening), []byte(text), []byte(closing), after), 0o666)
}
