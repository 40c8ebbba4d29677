//go:build unix

package cache

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gokiln/kiln/internal/atomicfile"
)

// checkOwner refuses a directory that somebody else can put files into: what
// is loaded from the cache is run.
func checkOwner(dir string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%w: %s can be written by other users (mode %04o), and what lies there is run; "+
			"run \"chmod go-w %s\" or set KILN_CACHE_DIR", ErrUnusable, dir, mode, dir)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if uid := os.Geteuid(); stat.Uid != 0 && int(stat.Uid) != uid {
		return fmt.Errorf("%w: %s belongs to user %d, this process runs as %d, and what lies there is run; "+
			"set KILN_CACHE_DIR to a directory of yours", ErrUnusable, dir, stat.Uid, uid)
	}
	return nil
}

// checkAbove refuses a directory that somebody else can replace by another one, because he can
// write to a directory that it lies in, at any height. In one with the sticky bit, such as /tmp,
// only the owner of an entry can. real is dir without links.
func checkAbove(dir, real string) error {
	for up := filepath.Dir(real); ; up = filepath.Dir(up) {
		info, err := os.Lstat(up)
		if err != nil {
			return missingOr(err)
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		uid := os.Geteuid()
		if ok && stat.Uid != 0 && int(stat.Uid) != uid {
			return fmt.Errorf("%w: %s lies in %s, which belongs to user %d, who can put another directory in its place, and what lies there is run; "+
				"set KILN_CACHE_DIR to a directory of yours", ErrUnusable, dir, up, stat.Uid)
		}
		open := info.Mode().Perm() & 0o022
		if ok && open == 0o020 && (stat.Gid == 0 || int(stat.Gid) == uid) {
			open = 0 // root's group, or the one that has the user's number because nobody else is in it
		}
		if open != 0 && info.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("%w: %s lies in %s, which can be written by other users (mode %04o), who can put another directory in its place, and what lies there is run; "+
				"run \"chmod go-w %s\" or set KILN_CACHE_DIR", ErrUnusable, dir, up, info.Mode().Perm(), up)
		}
		if up == filepath.Dir(up) {
			return nil
		}
	}
}

// checkInside refuses a directory or a file of the cache that somebody else can have written.
func checkInside(name string, info fs.FileInfo) error { return checkOwner(name, info) }

// hold opens the directory that was checked, and returns the files in it.
func hold(dir string) (atomicfile.System, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, missingOr(err)
	}
	info, err := root.Stat(".")
	if err == nil {
		err = checkOwner(dir, info)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return atomicfile.Rooted{Root: root, Dir: dir}, nil
}

// same reports whether the directory that is held is still the one under its name.
func same(held atomicfile.System, dir string) bool {
	r, ok := held.(atomicfile.Rooted)
	if !ok {
		return true
	}
	a, err := r.Root.Stat(".")
	b, berr := os.Stat(dir)
	return err == nil && berr == nil && os.SameFile(a, b)
}

// checkFileOwner refuses a file that anybody can have written: what is in it is run.
func checkFileOwner(name string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o002 != 0 {
		return fmt.Errorf("%w: %s can be written by everybody (mode %04o), and what is in it is run; run \"chmod o-w %s\", or sign it and set KILN_TRUST", ErrUnusable, name, mode, name)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if uid := os.Geteuid(); ok && stat.Uid != 0 && int(stat.Uid) != uid {
		return fmt.Errorf("%w: %s belongs to user %d, this process runs as %d, and what is in it is run; make it root's or your own, or sign it and set KILN_TRUST", ErrUnusable, name, stat.Uid, uid)
	}
	return nil
}
