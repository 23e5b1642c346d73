"""Settings of clients as people have them: comments, trailing commas, odd spacing, line ends of Windows, marks."""

from __future__ import annotations

JSONC = {
    "comments everywhere": (
        b'// my settings\n{\n  // servers, mostly from work\n  "mcpServers": {\n    // the one for issues\n'
        b'    "tracker": {\n      "command": "npx", // pinned\n      "args": ["-y", "tracker-mcp@1.2", /* no */],\n'
        b'      "env": {"URL": "https://x.example/*,]", "Q": "a \\" // b"}\n    }, /* end */\n  },\n'
        b'  "servers": {"a": {"type": "http", "url": "https://a.example"},},\n  "mcp": {},\n'
        b'  "hooks": {\n    // none yet\n  },\n  "version": 1,\n}\n// the end'
    ),
    "tabs and CRLF": b'{\r\n\t"theme": "dark", // yes\r\n\t"mcpServers": {\r\n\t\t// nothing\r\n\t},\r\n}\r\n',
    "BOM": b'\xef\xbb\xbf// first\n{"mcpServers": {"x": {"url": "https://x.example"},},}',
    "one line": b'{"mcp":{"x":{"type":"remote","url":"u"}},"version":1}',
    "empty": b"",
    "only a comment inside": b"{ /* nothing */ }\n",
}

JSON = {
    "plain": b'{\n    "scale": 0,\n    "mcpServers": {\n        "files": {"command": "npx", "args": []}\n    }\n}\n',
    "CRLF": b'{\r\n  "mcpServers": {}\r\n}\r\n',
    "BOM": b'\xef\xbb\xbf{"mcpServers":{}}',
    "one line": b'{"scale":0,"mcpServers":{"a":{"command":"a"}}}',
    "empty": b"",
}

JSON5 = {
    "written by hand": (
        b"// gateway of the house\n{\n  gateway: { mode: 'local', port: 0x4A05, weight: .5, },\n"
        b"  agents: {\n    defaults: {\n      bootstrapMaxChars: 20000, // as it comes\n    },\n  },\n"
        b"  mcp: {\n    sessionIdleTtlMs: 0,\n    servers: {\n      // papers\n"
        b"      docs: { url: 'https://it\\'s.example/mcp', transport: 'streamable-http' },\n    },\n  },\n}\n"
    ),
    "written by the program": b'{\n  "meta": {\n    "last": "2026.11.2"\n  },\n  "mcp": {\n    "servers": {}\n  }\n}\n',
    "without servers": b"{ gateway: {} }",
    "empty": b"",
}

TOML = {
    "in use": (
        b'# mine\nmodel = "gpt-5.5"\nnotify = ["bell", "[x]"]\n\n[mcp_servers.docs]   # docs\ncommand = "npx"\n'
        b'args = [\n  "-y",\n  "docs-mcp",\n]\n\n[mcp_servers.docs.env]\nKEY = """\n[mcp_servers.vademecum]\n"""\n\n'
        b'# what I trust\n[projects."/home/ana/work"]\ntrust_level = "trusted"\n\n[tools]\nweb_search = true\n'
    ),
    "CRLF, no newline at the end": b'model = "gpt-5.5"\r\n\r\n[features]\r\nhooks = true',
    "dotted": b'mcp_servers.a.command = "a"\n',
    "a header without servers": b"[mcp_servers]\n\n[history]\npersistence = 'none'\n",
    "comments only": b"# nothing\n",
    "empty": b"",
}

YAML = {
    "in use": (
        b'# Hermes\nmodel:\n  default: "hermes-4"   # best\n  provider: nous\ntoolsets: [all, -x]\nmcp_servers:\n'
        b"    # the clock\n    time:\n        command: 'uvx'\n        args: [\"mcp-server-time\"]\n\n"
        b"        env:\n            TZ: Europe/Rome\n\n\nagent:\n- max_turns: 90\n-   verbose: off\n"
        b"personality: |\n  mcp_servers:\n    not: these\nlong: " + b"word " * 40 + b"\n"
    ),
    "CRLF": b"model: x\r\nmcp_servers:\r\n  a:\r\n    url: https://a.example\r\n# end\r\n",
    "no value": b"mcp_servers:  # none yet\nmodel: x\n",
    "null": b"mcp_servers: null\nmodel: x",
    "braces": b"mcp_servers: {a: {command: x}, }\nmodel: x\n",
    "empty braces": b"mcp_servers: {}  # none\n",
    "document marks": b"---\nmodel: x\n...\n",
    "BOM": b"\xef\xbb\xbfmodel: x\n",
    "empty": b"",
}

TEXT = {
    "Markdown": b"# How we work\n\nBe brief.\n\n```\n<!-- vademecum rules: example -->\n```\n",
    "no newline at the end": b"# How we work",
    "CRLF and BOM": b"\xef\xbb\xbf# How we work\r\n\r\nBe brief.\r\n",
    "not UTF-8": b"# Caf\xe9\n",
    "empty": b"",
}

KINDS = {"json": JSON, "jsonc": JSONC, "json5": JSON5, "toml": TOML, "yaml": YAML}
