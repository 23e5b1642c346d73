"""surfaces/http"""
