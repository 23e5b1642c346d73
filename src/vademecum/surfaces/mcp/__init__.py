"""surfaces/mcp"""
