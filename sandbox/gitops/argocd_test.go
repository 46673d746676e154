package gitops_test

import (
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
)

// argoCD are the page's health checks by kind.
type argoCD map[string]string

func newArgoCD(t *testing.T) argoCD {
	t.Helper()
	scripts := argoCD{}
	for key, script := range object[corev1.ConfigMap](t, "ConfigMap").Data {
		kind, found := strings.CutPrefix(key, "resource.customizations.health.infra.homecluster.dev_")
		if !found {
			t.Fatalf("Argo CD does not know the key %s", key)
		}
		scripts[kind] = script
	}
	return scripts
}

// health runs the script of a kind as Argo CD does: with the libraries that it has, and no others.
func (a argoCD) health(t *testing.T, kind string, fields map[string]any) (status, message string) {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	state.SetGlobal("obj", toLua(t, state, fields))
	if err := state.DoString(a[kind]); err != nil {
		t.Fatalf("the health of %v: %v", fields, err)
	}
	answer, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the health of %v is a %s", fields, state.Get(-1).Type())
	}
	status, message = lua.LVAsString(answer.RawGetString("status")), lua.LVAsString(answer.RawGetString("message"))
	if agree[status] == "" {
		t.Fatalf("Argo CD has no health %q", status)
	}
	return status, message
}

func toLua(t *testing.T, state *lua.LState, value any) lua.LValue {
	t.Helper()
	switch v := value.(type) {
	case nil:
		return lua.LNil
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		list := state.NewTable()
		for _, item := range v {
			list.Append(toLua(t, state, item))
		}
		return list
	case map[string]any:
		table := state.NewTable()
		for key, item := range v {
			table.RawSetString(key, toLua(t, state, item))
		}
		return table
	}
	t.Fatalf("a field of type %T", value)
	return nil
}
