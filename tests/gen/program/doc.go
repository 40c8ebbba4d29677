// Command program launches a kernel of its own through a generated launcher.
package main
