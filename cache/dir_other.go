//go:build !unix

package cache

import (
	"io/fs"

	"github.com/gokiln/kiln/internal/atomicfile"
)

// checkOwner accepts every directory: on this system access is ruled by lists
// that the user's profile directory already has right.
func checkOwner(string, fs.FileInfo) error { return nil }

func checkAbove(string, string) error { return nil }

func checkInside(string, fs.FileInfo) error { return nil }

// hold does not hold the directory open: here that would keep others from removing it.
func hold(string) (atomicfile.System, error) { return atomicfile.OS{}, nil }

func same(atomicfile.System, string) bool { return true }

func checkFileOwner(string, fs.FileInfo) error { return nil }
